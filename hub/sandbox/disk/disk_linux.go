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

// Measure adds up directories until it has counted more than most. It follows no link, leaves no directory that it was
// given, and enters no other file system. A file with several names counts once.
func Measure(dirs []string, most int64) Use {
	w := &walk{most: most, linked: map[file]bool{}}
	for _, dir := range Outermost(dirs) {
		w.measure(dir)
	}
	return w.use
}

// Outermost returns the directories that lie in no other one of them.
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

// walk is a measurement that runs.
type walk struct {
	use    Use
	most   int64
	seen   int // entries
	linked map[file]bool
}

// pending is a directory that waits for its turn. Directories share the names of those above.
type pending struct {
	above *pending
	name  string
	long  int // its path
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

// top returns the entry of the measured directory that p is or lies in.
func (p *pending) top() string {
	for p.above != nil {
		p = p.above
	}
	return p.name
}

func (w *walk) cut(why string) { w.use.Cut = cmp.Or(w.use.Cut, why) }

// over reports whether enough was counted.
func (w *walk) over() bool { return w.use.Bytes > w.most || w.seen >= mostEntries }

// measure adds one directory, depth first.
func (w *walk) measure(dir string) {
	root, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil { // it is gone, or was never there
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

// list adds the entries of one directory, and its directories to those that wait.
func (w *walk) list(root int, at *pending, tops *places, waiting *[]*pending) {
	fd, err := unix.Openat2(root, at.path(), &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH |
			unix.RESOLVE_NO_XDEV})
	if err != nil { // gone meanwhile, another file system, or closed to this user
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
		return // gone meanwhile
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
			stat.Blocks = 0 // its name counts still
		} else if len(w.linked) < mostLinked {
			w.linked[id] = true
		}
	}
	if w.seen++; w.seen >= mostEntries {
		w.cut("it has too many files")
	}
	n := max(stat.Blocks*512, Entry) // blocks, not its size: a sparse file takes what it holds
	w.use.Bytes += n
	tops.add(here.top(), n)
}

// places adds up the entries of one measured directory, which come one after the other.
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

// Larger returns the largest of some places.
func Larger(all []Place) []Place {
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	return all[:min(len(all), mostPlaces)]
}

// Room returns how many bytes of a path's file system are used, and are free for this user; ok is false when it cannot
// be known.
func Room(path string) (used, free int64, ok bool) {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return 0, 0, false
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize, int64(s.Bavail) * s.Bsize, true
}

// Free returns how many bytes are free on the disk of a path for this user; 0 when that cannot be known.
func Free(path string) int64 {
	_, free, _ := Room(path)
	return free
}

// mostSpare is what stays free of a large disk.
const mostSpare = 256 << 20

// Spare returns how many bytes should stay free on the disk of a path.
func Spare(path string) int64 {
	used, free, _ := Room(path)
	return min(mostSpare, (used+free)/50)
}

// mostOpen is how many descriptors of processes are looked at.
const mostOpen = 1 << 16

// Deleted adds up files without a name that processes hold open, on the disks of some directories.
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
