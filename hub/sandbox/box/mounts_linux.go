package box

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// layout collects bubblewrap's arguments and the file descriptors of bound paths.
type layout struct {
	cfg   Config
	args  []string
	files []*os.File // passed from descriptor firstBind on

	mounts []mount  // where the files are bound
	home   *os.Root // the private home directory; nil: not below this one
}

// firstBind is the file descriptor of the first bound path: after the standard ones, bubblewrap's report, the holder's
// two, and the arguments.
const firstBind = 7

func (l *layout) add(args ...string) { l.args = append(l.args, args...) }

func (l *layout) close() {
	for _, f := range l.files {
		f.Close()
	}
	if l.home != nil {
		l.home.Close()
	}
}

// bindFile binds an open file or directory, which cannot be replaced meanwhile.
func (l *layout) bindFile(how string, f *os.File, at string) {
	l.add(how, "/proc/self/fd/"+strconv.Itoa(firstBind+len(l.files)), at)
	l.files, l.mounts = append(l.files, f), append(l.mounts, mount{f, at, how == "--ro-bind"})
}

// openPath opens a path without following links: a program that can write there may have created them.
func openPath(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ELOOP) {
		if real, linked := filepath.EvalSymlinks(path); linked == nil {
			return nil, fmt.Errorf("%s is reached by a symbolic link. In a sandbox, use the directory itself: %s", path,
				real)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// bind binds a path of the policy at the same place, if the guard allows it.
func (l *layout) bind(how, path string, own []string) error {
	f, err := openPath(path)
	if err != nil {
		return err
	}
	if err = l.cfg.Guard.CheckFile(f, own...); err == nil {
		err = l.prepare(path, f)
	}
	if err != nil {
		f.Close()
		return refusePath(path, err)
	}
	l.bindFile(how, f, path)
	return nil
}

func refusePath(path string, why error) error {
	return fmt.Errorf("%s cannot be in a sandbox: %w", path, why)
}

// prepare creates the mount point of a path below the home directory. Programs of the session wrote to that directory:
// bubblewrap would follow their links on the host.
func (l *layout) prepare(path string, f *os.File) error {
	if l.home == nil {
		return nil
	}
	return l.prepareIn(l.home, l.cfg.Home, path, f)
}

// prepareIn is prepare for a private directory with another path in the box.
func (l *layout) prepareIn(root *os.Root, shown, path string, f *os.File) error {
	rel, err := filepath.Rel(shown, path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		at, dir := filepath.Join(parts[:i+1]...), i < len(parts)-1 || info.IsDir()
		if err := makePlace(root, at, dir); err != nil {
			return err
		}
	}
	return nil
}

// makePlace makes an entry a directory or a file, and removes anything else there.
func makePlace(root *os.Root, at string, dir bool) error {
	switch info, err := root.Lstat(at); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case dir && info.IsDir() || !dir && info.Mode().IsRegular():
		return nil
	default:
		if err := root.RemoveAll(at); err != nil {
			return err
		}
	}
	if dir {
		return root.Mkdir(at, 0o700)
	}
	f, err := root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// plan lays out a box with its private files in dir.
func plan(cfg Config, p *sandbox.Policy, dir string) (*layout, error) {
	l := &layout{cfg: cfg}
	p = followTopLinks(p)
	l.addSystem()
	err := l.addPrivate(dir)
	if err == nil {
		err = l.addHome(p)
	}
	if err == nil {
		err = l.addPolicy(p)
	}
	if err == nil {
		err = l.addProgram(p)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	l.add("--remount-ro", "/", "--chdir", "/", "--", inside, enter.HoldCommand)
	for _, r := range p.Relays {
		l.add(strconv.Itoa(r.Port))
	}
	return l, nil
}

// systemTops are the entries of the root directory that a box has its own of, or takes from the system.
var systemTops = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/run", "/proc", "/sys",
	"/dev", "/boot", "/opt", "/nix", "/tmp", "/var"}

// addSystem adds the parts of the computer that every program needs, read-only.
func (l *layout) addSystem() {
	l.add("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
		"--as-pid-1", "--cap-drop", "ALL", "--hostname", "sandbox", "--ro-bind", "/usr", "/usr")
	for _, top := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(top); err == nil {
			l.add("--symlink", to, top)
		} else {
			l.add("--ro-bind-try", top, top)
		}
	}
	for _, top := range []string{"/opt", "/nix", "/etc"} {
		l.add("--ro-bind-try", top, top)
	}
	for top, to := range topLinks() {
		l.add("--symlink", to, top)
	}
	for _, path := range closedBelow("/etc") {
		l.mask(path)
	}
	l.addKernel()
	l.add("--dir", "/var/lib", "--symlink", "../run", "/var/run", "--dir", "/run")
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !strings.HasPrefix(real, "/etc/") {
		l.add("--ro-bind", real, real)
	}
}

// topLinks returns the targets of links in the computer's root directory, like /home on some systems. No box can write
// that directory, so these links are the administrator's: they are followed, and exist in each box.
var topLinks = sync.OnceValue(func() map[string]string {
	entries, _ := os.ReadDir("/") // without them, paths through links are refused
	links := map[string]string{}
	for _, entry := range entries {
		top := "/" + entry.Name()
		if entry.Type()&fs.ModeSymlink == 0 || slices.Contains(systemTops, top) {
			continue
		}
		if to, err := os.Readlink(top); err == nil {
			links[top] = to
		}
	}
	return links
})

// followTopLink replaces a link of the root directory at the start of a path with its target.
func followTopLink(path string) string {
	top, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if topLinks()["/"+top] == "" {
		return path
	}
	real, err := filepath.EvalSymlinks("/" + top)
	if err != nil {
		return path
	}
	return filepath.Join(real, rest)
}

// followTopLinks is followTopLink for the paths of a policy.
func followTopLinks(p *sandbox.Policy) *sandbox.Policy {
	real := *p
	for _, list := range []*[]string{&real.Write, &real.Read, &real.Seal, &real.Git} {
		paths := make([]string, len(*list))
		for i, path := range *list {
			paths[i] = followTopLink(path)
		}
		*list = paths
	}
	return &real
}

// kernelSettings are the kernel's files that language runtimes read.
var kernelSettings = []string{"/sys/devices/system", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup"}

// addKernel adds the kernel's file systems. It limits /sys to files that language runtimes read. bubblewrap leaves
// /proc/sys writable, which matters if the hub runs as root: its programs could write there by their user id.
func (l *layout) addKernel() {
	for _, path := range kernelSettings {
		l.add("--ro-bind-try", path, path)
	}
	l.add("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
	for _, path := range []string{"/proc/fs", "/proc/sysrq-trigger"} {
		if isThere(path) {
			l.add("--ro-bind", path, path)
		}
	}
	for _, path := range []string{"/proc/acpi", "/proc/scsi", "/proc/kcore", "/proc/keys", "/proc/key-users",
		"/proc/timer_list", "/proc/latency_stats", "/proc/kmsg", "/proc/kallsyms", "/proc/iomem", "/proc/ioports",
		"/proc/vmallocinfo", "/proc/slabinfo", "/proc/driver", "/proc/mtrr", "/proc/asound", "/proc/config.gz",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/pagetypeinfo"} {
		l.mask(path)
	}
	l.add("--dev", "/dev")
}

// mask hides the contents of a path, if it exists.
func (l *layout) mask(path string) {
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		l.add("--tmpfs", path, "--remount-ro", path)
	default:
		l.add("--ro-bind", "/dev/null", path)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// closedBelow lists paths that are not readable by every user of the computer: the hub may run as root.
func closedBelow(dir string) (paths []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable in a box as well
		}
		info, err := d.Info()
		switch {
		case err != nil || info.Mode()&fs.ModeSymlink != 0:
		case d.IsDir() && info.Mode()&0o005 != 0o005:
			paths = append(paths, path)
			return fs.SkipDir
		case !d.IsDir() && info.Mode()&0o004 == 0:
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// addPrivate adds /tmp, which is new for each box, and the home directory, which the session keeps.
func (l *layout) addPrivate(dir string) error {
	for _, name := range []string{"home", "tmp", "vartmp", "work", "sent"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	session := filepath.Base(dir)
	for _, at := range [][3]string{{"--bind", "tmp", "/tmp"}, {"--bind", "vartmp", "/var/tmp"},
		{"--bind", "home", l.cfg.Home}, {"--bind", "work", sandbox.WorkDir(l.cfg.Dir, session)},
		{"--ro-bind", "sent", sandbox.SentDir(l.cfg.Dir, session)}} {
		f, err := openPath(filepath.Join(dir, at[1]))
		if err != nil {
			return err
		}
		l.bindFile(at[0], f, at[2])
	}
	var err error
	l.home, err = os.OpenRoot(filepath.Join(dir, "home"))
	return err
}

// homeReads lists the paths of the user's home directory that the policy and tool chains read.
func (c Config) homeReads(p *sandbox.Policy) []string {
	read := slices.Concat(sandbox.Tools, p.HomeRead)
	for _, dir := range filepath.SplitList(c.Path) {
		if rel, err := filepath.Rel(c.Home, dir); err == nil && filepath.IsLocal(rel) && rel != "." {
			read = append(read, rel)
		}
	}
	slices.Sort(read)
	return slices.Compact(read)
}

// addHome adds the paths of the user's home directory that the policy and tool chains need.
func (l *layout) addHome(p *sandbox.Policy) error {
	for _, rel := range l.cfg.homeReads(p) {
		if err := l.addOwn("--ro-bind", rel); err != nil {
			return err
		}
	}
	for _, rel := range p.Home {
		if l.cfg.isLogin(p, rel) {
			continue // it is copied
		}
		if err := l.addOwn("--bind", rel); err != nil {
			return err
		}
	}
	return nil
}

// addOwn binds a path below the home directory, if it exists. It may be elsewhere: the user's links are followed.
func (l *layout) addOwn(how, rel string) error {
	path := filepath.Join(l.cfg.Home, rel)
	f, err := l.cfg.openOwn(path)
	if f == nil {
		return err
	}
	if err := l.prepare(path, f); err != nil {
		f.Close()
		return err
	}
	l.bindFile(how, f, path)
	return nil
}

// openOwn opens a path below the home directory. It returns nil, and a box goes without the path, if it does not exist
// or leads into the data directory.
func (c Config) openOwn(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, nil
	}
	f, err := openPath(real)
	if err != nil {
		return nil, err
	}
	if err = c.Guard.CheckFile(f); err == nil {
		err = c.Guard.CheckWhole(real)
	}
	if err != nil {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// addPolicy adds the directories of the policy, parents first.
func (l *layout) addPolicy(p *sandbox.Policy) error {
	byLength := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	write := slices.SortedFunc(slices.Values(p.Write), byLength)
	var kept []string
	for _, path := range write {
		if slices.ContainsFunc(kept, func(k string) bool { return isBelow(path, k) }) {
			continue
		}
		if err := l.cfg.checkWide(path); err != nil {
			return err
		}
		kept = append(kept, path)
	}
	for _, path := range slices.SortedFunc(slices.Values(p.Read), byLength) {
		if err := cmp.Or(l.cfg.checkWide(path), l.bind("--ro-bind", path, p.Own)); err != nil {
			return err
		}
	}
	for _, path := range kept {
		if err := l.bind("--bind", path, p.Own); err != nil {
			return err
		}
	}
	for _, dir := range p.Git {
		if err := l.addGit(dir, p); err != nil {
			return err
		}
	}
	for _, path := range p.Seal {
		if err := l.bind("--ro-bind", path, p.Own); err != nil {
			return err
		}
	}
	return nil
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// checkWide refuses directories with the home directory, the hub's data or shared files, and the system's.
func (c Config) checkWide(path string) error {
	switch {
	case isBelow(c.Home, path):
		return fmt.Errorf("%s holds your home directory with its keys. Choose a directory below it, or run this "+
			"session "+
			"without a sandbox", path)
	case isBelow("/tmp", path), isBelow("/var/tmp", path):
		return fmt.Errorf("%s is shared by all programs of this computer. Choose a directory below it, or run this "+
			"session without a sandbox", path)
	}
	for _, top := range []string{"/usr", "/bin", "/sbin", "/lib", "/etc", "/run", "/proc", "/sys", "/dev", "/boot"} {
		if isBelow(path, top) && !strings.HasPrefix(path, "/usr/local/src/") && !strings.HasPrefix(path, "/usr/src/") {
			return fmt.Errorf("%s belongs to the system. Choose another directory, or run this session without a "+
				"sandbox",
				path)
		}
	}
	if err := c.Guard.CheckWhole(path); err != nil {
		return fmt.Errorf("%s holds ahphub's own data. Choose a directory below it, or run this session without a "+
			"sandbox",
			path)
	}
	return nil
}

// addProgram adds the hub's program, also at its own path: agents start it as a bridge to its tools.
func (l *layout) addProgram(p *sandbox.Policy) error {
	real, err := filepath.EvalSymlinks(l.cfg.Program)
	if err != nil {
		return err
	}
	for _, at := range []string{inside, l.cfg.Program} {
		seen := func(dir string) bool { return isBelow(at, dir) }
		if slices.ContainsFunc([]string{"/usr", "/opt", "/nix"}, seen) || slices.ContainsFunc(p.Write, seen) {
			continue
		}
		f, err := openPath(real)
		if err != nil {
			return err
		}
		if err := l.prepare(at, f); err != nil {
			f.Close()
			return err
		}
		l.bindFile("--ro-bind", f, at)
	}
	return nil
}
