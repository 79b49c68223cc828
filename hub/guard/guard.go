// Package guard refuses paths that the program never serves: its data directory, its secrets, and the kernel's file
// systems. It compares devices, inodes and kinds of file systems, so that no other spelling of a path avoids it.
package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

var (
	// ErrData refuses paths in the data directory, and the program's secrets.
	ErrData = errors.New("ahphub stores its own data there, which no one can access")
	// ErrKernel refuses the kernel's file systems: they expose, for example, other programs' memory and environment.
	ErrKernel = errors.New("it is in /proc, /sys, /dev or another kernel file system, which holds no files")
)

// IsRefusal reports whether an error is a guard's refusal.
func IsRefusal(err error) bool {
	_, outside := errors.AsType[*OutsideError](err)
	return outside || errors.Is(err, ErrData) || errors.Is(err, ErrKernel)
}

// OutsideError refuses paths outside of the directories that a computer opens to sessions.
type OutsideError struct{ Machine string }

func (e *OutsideError) Error() string {
	return "it is outside of the directories that " + e.Machine +
		" opens to sessions. To open more, start ahphub join there with --dir for each"
}

// worktrees is the part of the data directory where sessions work, each in the directory of its name.
const worktrees = "worktrees"

// Guard refuses paths. The zero value and nil refuse only the kernel's file systems.
type Guard struct {
	dir     string   // the configured data directory, absolute
	root    *os.Root // of the data directory: stays open, and so follows a rename
	self    fs.FileInfo
	secrets []string
	within  []string               // nil: everywhere
	machine atomic.Pointer[string] // name of the machine with those directories
}

// New returns a guard of an existing data directory and of files with secrets elsewhere, which need not exist.
func New(dataDir string, secrets ...string) (*Guard, error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, err
	}
	g := &Guard{dir: dir, secrets: slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })}
	if g.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	g.self, err = g.root.Stat(".")
	return g, err
}

// StayWithin makes a guard also refuse paths outside of dirs, which are absolute and have no links. Call it before the
// guard is used.
func (g *Guard) StayWithin(machine string, dirs []string) {
	g.within = slices.Clone(dirs)
	g.Rename(machine)
}

// Rename changes the machine's name in refusals by StayWithin.
func (g *Guard) Rename(machine string) { g.machine.Store(&machine) }

// isOutside reports whether a path without links is outside of the directories of StayWithin.
func (g *Guard) isOutside(real string) bool {
	return g != nil && g.within != nil && !slices.ContainsFunc(g.within, func(dir string) bool {
		return real == dir || strings.HasPrefix(real, strings.TrimSuffix(dir, "/")+"/")
	})
}

// Close releases the data directory. A closed guard refuses all files with several hard links.
func (g *Guard) Close() error {
	if g == nil || g.root == nil {
		return nil
	}
	return g.root.Close()
}

// CheckFile refuses an open file or directory. own are the sessions whose worktrees in the data directory are open.
func (g *Guard) CheckFile(f *os.File, own ...string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if isKernelFile(f) {
		return ErrKernel
	}
	real, err := realPath(f, info)
	if err != nil {
		return err
	}
	return g.check(real, info, own)
}

// RealPath returns the current path of an open file, with links resolved.
func RealPath(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return realPath(f, info)
}

// CheckPath refuses a path: its target if it exists, otherwise the place where it would be created.
func (g *Guard) CheckPath(path string, own ...string) error {
	real, err := nearest(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if isKernelPath(real) {
		return ErrKernel
	}
	return g.check(real, info, own)
}

// CheckName refuses a name itself, for example of a link, rather than its target.
func (g *Guard) CheckName(path string, own ...string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := g.CheckPath(filepath.Dir(path), own...); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0:
		return nil
	default:
		return g.CheckPath(path, own...)
	}
}

// Stops reports whether a walk must stop at a directory below a checked one: at the data directory or at a kernel file
// system.
func (g *Guard) Stops(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && (g.isData(info) || isClosed(info) || isKernelPath(dir))
}

// CheckWhole refuses a directory that contains refused paths, so that they are not moved, copied or removed with it.
func (g *Guard) CheckWhole(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil
	}
	for _, dir := range g.Dirs() {
		switch {
		case !isBelow(dir, info):
		case slices.Contains(closedPlaces, dir):
			return ErrKernel
		default:
			return ErrData
		}
	}
	return nil
}

// Dirs returns the closed paths: the kernel's, and the data directory's path as configured, with links resolved, and
// after later renames.
func (g *Guard) Dirs() (dirs []string) {
	if g == nil || g.root == nil {
		return slices.Clone(closedPlaces)
	}
	dirs = slices.Concat([]string{g.dir}, closedPlaces)
	add := func(dir string, err error) {
		if err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(filepath.EvalSymlinks(g.dir))
	if f, err := g.root.Open("."); err == nil {
		add(realPath(f, g.self))
		f.Close()
	}
	return dirs
}

// IsSecret reports whether a file is a hard link to a secret or to a file of the data directory.
func (g *Guard) IsSecret(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && linksOf(info) > 1 && g.checkNames(info, g.tops()) != nil
}

func (g *Guard) isData(info fs.FileInfo) bool {
	return g != nil && g.self != nil && os.SameFile(info, g.self)
}

// check checks a file or directory by its real path, and every directory above it.
func (g *Guard) check(real string, info fs.FileInfo, own []string) error {
	if g.isOutside(real) {
		return &OutsideError{*g.machine.Load()}
	}
	tops, dir := g.tops(), info
	for at := real; ; at = filepath.Dir(at) {
		if at != real {
			var err error
			if dir, err = os.Stat(at); err != nil {
				return err
			}
		}
		if isClosed(dir) {
			return ErrKernel
		}
		if rel, inside := g.place(tops, dir, at, real); inside {
			if !isOwn(rel, own) {
				return ErrData
			}
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if info.IsDir() {
		return nil
	}
	return g.checkNames(info, tops)
}

// tops returns the entries of the data directory.
func (g *Guard) tops() (infos []fs.FileInfo) {
	if g == nil || g.root == nil {
		return nil
	}
	f, err := g.root.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	infos, _ = f.Readdir(-1)
	return infos
}

// place returns the path of real relative to the data directory, if dir, at path at above it, is that directory or an
// entry of it.
func (g *Guard) place(tops []fs.FileInfo, dir fs.FileInfo, at, real string) (rel string, inside bool) {
	prefix := "."
	if !g.isData(dir) {
		i := slices.IndexFunc(tops, func(t fs.FileInfo) bool { return t.IsDir() && os.SameFile(t, dir) })
		if i < 0 {
			return "", false
		}
		prefix = tops[i].Name()
	}
	rel, err := filepath.Rel(at, real)
	if err != nil {
		return "", true
	}
	return filepath.Join(prefix, rel), true
}

// isOwn reports whether a path below the data directory is in the worktree of one of these sessions.
func isOwn(rel string, own []string) bool {
	parts := strings.SplitN(filepath.ToSlash(rel), "/", 3)
	return len(parts) > 1 && parts[0] == worktrees && slices.Contains(own, parts[1])
}

// mostNames bounds the files of the data directory that a file with several hard links is compared with.
const mostNames = 100_000

// checkNames refuses a file that is a secret by a hard link, or mounted elsewhere.
func (g *Guard) checkNames(info fs.FileInfo, tops []fs.FileInfo) error {
	if g == nil {
		return nil
	}
	for _, path := range g.secrets {
		if secret, err := os.Stat(path); err == nil && os.SameFile(info, secret) {
			return ErrData
		}
	}
	if slices.ContainsFunc(tops, func(t fs.FileInfo) bool { return os.SameFile(info, t) }) {
		return ErrData
	}
	if g.root == nil || linksOf(info) < 2 || !sameDevice(info, g.self) {
		return nil
	}
	return g.search(info)
}

// search searches the data directory for a file, except worktrees and checkpoints, which hold files of repositories.
func (g *Guard) search(info fs.FileInfo) error {
	left := mostNames
	return fs.WalkDir(g.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		left--
		switch {
		case err != nil && path != ".":
			return nil // removed meanwhile
		case err != nil || left < 0:
			return ErrData
		case d.IsDir() && (path == worktrees || path == "checkpoints"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if there, err := d.Info(); err == nil && os.SameFile(info, there) {
			return ErrData
		}
		return nil
	})
}

// Reason returns why a guard refuses a path. It does not repeat system errors.
func Reason(err error) string {
	if IsRefusal(err) {
		return err.Error()
	}
	return "it cannot be read"
}
