package disk

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Measure adds up directories until the sum exceeds most. It follows no links, and stays inside the given directories
// and their file systems. It counts a file with several hard links once.
func Measure(dirs []string, most int64) Use {
	w := &walk{most: most, linked: map[file]bool{}}
	for _, dir := range Outermost(dirs) {
		w.measure(dir)
	}
	return w.use
}

// Outermost returns the directories that are in none of the others.
func Outermost(dirs []string) (out []string) {
	dirs = slices.Clone(dirs)
	slices.Sort(dirs)
	for _, dir := range dirs {
		if !slices.ContainsFunc(out, func(o string) bool { return dir == o || strings.HasPrefix(dir, o+"/") }) {
			out = append(out, dir)
		}
	}
	return out
}

// file identifies a file.
type file struct{ dev, ino uint64 }

// walk is a running measurement.
type walk struct {
	use    Use
	most   int64
	seen   int // entries
	linked map[file]bool
}

// pending is a directory that waits to be listed. Paths share the names of their parents.
type pending struct {
	above *pending
	name  string
	long  int // length of its path
}

func (p *pending) path() string {
	if p == nil {
		return "."
	}
	names := make([]string, 0, 16)
	for ; p != nil; p = p.above {
		names = append(names, p.name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// top returns the entry of the measured directory that contains p.
func (p *pending) top() string {
	for p.above != nil {
		p = p.above
	}
	return p.name
}

func (w *walk) cut(why string) { w.use.Cut = cmp.Or(w.use.Cut, why) }

// over reports whether the walk has reached a bound.
func (w *walk) over() bool { return w.use.Bytes > w.most || w.seen >= mostEntries }

// measure adds one directory, depth first.
func (w *walk) measure(dir string) {
	root, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil { // removed, or never existed
		return
	}
	defer unix.Close(root)
	tops := &places{dir: dir}
	waiting := []*pending{nil}
	for len(waiting) > 0 && !w.over() {
		next := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		w.list(root, next, tops, &waiting)
	}
	tops.close()
	w.use.Largest = Larger(append(w.use.Largest, tops.largest...))
}

// list adds the entries of one directory, and queues its subdirectories.
func (w *walk) list(root int, at *pending, tops *places, waiting *[]*pending) {
	fd, err := unix.Openat2(root, at.path(), &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH |
			unix.RESOLVE_NO_XDEV})
	if err != nil { // removed meanwhile, on another file system, or not readable
		return
	}
	f := os.NewFile(uintptr(fd), "directory")
	defer f.Close()
	for !w.over() {
		names, err := f.Readdirnames(batch)
		for _, name := range names {
			w.entry(fd, at, name, tops, waiting)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.cut("a directory cannot be read to its end")
			}
			return
		}
	}
}

// entry adds one entry of a directory.
func (w *walk) entry(dir int, at *pending, name string, tops *places, waiting *[]*pending) {
	var stat unix.Stat_t
	if unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return // removed meanwhile
	}
	here := pending{above: at, name: name, long: len(name)}
	if at != nil {
		here.long += at.long + 1
	}
	switch kind := stat.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR && (here.long > longestPath || len(*waiting) >= mostPending):
		w.cut("it has too many directories or too long paths")
	case kind == unix.S_IFDIR:
		*waiting = append(*waiting, &here)
	case kind == unix.S_IFREG && stat.Nlink > 1:
		id := file{uint64(stat.Dev), stat.Ino}
		if w.linked[id] {
			stat.Blocks = 0 // its name still counts
		} else if len(w.linked) < mostLinked {
			w.linked[id] = true
		}
	}
	if w.seen++; w.seen >= mostEntries {
		w.cut("it has too many files")
	}
	n := max(stat.Blocks*512, Entry) // blocks, not the size: a sparse file occupies only those
	w.use.Bytes += n
	tops.add(here.top(), n)
}

// places adds up the entries of one measured directory, which arrive in sequence.
type places struct {
	dir     string
	now     Place
	largest []Place
}

func (p *places) add(name string, n int64) {
	path := filepath.Join(p.dir, name)
	if i := slices.IndexFunc(p.largest, func(at Place) bool { return at.Path == path }); i >= 0 {
		p.largest[i].Bytes += n
		return
	}
	if p.now.Path != path {
		p.close()
		p.now = Place{Path: path}
	}
	p.now.Bytes += n
}

func (p *places) close() {
	if p.now.Path != "" {
		p.largest = Larger(append(p.largest, p.now))
	}
	p.now = Place{}
}

// Larger returns the largest places.
func Larger(all []Place) []Place {
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	return all[:min(len(all), mostPlaces)]
}

// Room returns the used bytes of a path's file system, and the bytes free for this user; ok is false if unknown.
func Room(path string) (used, free int64, ok bool) {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return 0, 0, false
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize, int64(s.Bavail) * s.Bsize, true
}

// Free returns the bytes free for this user on the disk of a path, or 0 if unknown.
func Free(path string) int64 {
	_, free, _ := Room(path)
	return free
}

// mostSpare bounds the space kept free on a large disk.
const mostSpare = 256 << 20

// Spare returns the number of bytes to keep free on the disk of a path.
func Spare(path string) int64 {
	used, free, _ := Room(path)
	return min(mostSpare, (used+free)/50)
}

// mostOpen bounds the file descriptors that Deleted checks.
const mostOpen = 1 << 16

// Deleted adds up unlinked files that processes hold open, on the disks of dirs.
func Deleted(pids []int, dirs []string) (bytes int64) {
	disks, seen, looked := map[uint64]bool{}, map[file]bool{}, 0
	for _, dir := range dirs {
		var stat unix.Stat_t
		if unix.Stat(dir, &stat) == nil {
			disks[uint64(stat.Dev)] = true
		}
	}
	for _, pid := range pids {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
		if err != nil {
			continue
		}
		for err == nil && looked < mostOpen {
			var names []string
			names, err = f.Readdirnames(batch)
			looked += len(names)
			for _, name := range names {
				var stat unix.Stat_t
				if unix.Fstatat(int(f.Fd()), name, &stat, 0) == nil && stat.Nlink == 0 && disks[uint64(stat.Dev)] &&
					stat.Mode&unix.S_IFMT == unix.S_IFREG && !seen[file{uint64(stat.Dev), stat.Ino}] {
					seen[file{uint64(stat.Dev), stat.Ino}] = true
					bytes += stat.Blocks * 512
				}
			}
		}
		f.Close()
	}
	return bytes
}
