package resource

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Grant opens one file, or a directory with all below it, to a principal who asked for it.
type Grant struct {
	Path  string // absolute, with its links resolved
	Dir   bool
	Write bool
}

// purpose is what a spot is looked for.
type purpose int

const (
	reading  purpose = iota
	writing          // into a file, or what a link leads to
	renaming         // the name itself: made, taken away, moved
)

// Look finds what a URI stands for, links resolved: the most that can be granted when it is asked for.
func Look(uri ahp.URI) (Grant, error) {
	path, err := Path(uri)
	if err != nil {
		return Grant{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Grant{}, problem(uri, err)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return Grant{}, problem(uri, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return Grant{}, ahp.Errorf(ahp.CodePermissionDenied, "%.200s is neither a file nor a directory", uri)
	}
	return Grant{Path: real, Dir: info.IsDir()}, nil
}

// Overlap reports whether one of two paths is the other or lies in it, whatever their letters' case means here.
func Overlap(a, b string) bool { return inside(a, b) || inside(b, a) }

// inside asks the disk: two spellings may be one directory. What is not there is inside of nothing.
func inside(path, dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false
	}
	for at := real; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// granted finds the grant that a path lies under. Paths are compared with their links resolved, so that a link put in the
// way later leads nowhere; what the last name itself stands for is its root's to follow.
func (f Files) granted(path string, uri ahp.URI, why purpose) (spot, error) {
	if len(f.Granted) == 0 {
		return spot{}, denied(uri)
	}
	names := []string{placed(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && why != renaming {
		names = append(names, real)
	}
	for _, name := range names {
		for _, g := range f.Granted {
			if s, ok := g.spot(name, why); ok && name != "" && g.stands() {
				s.uri, s.files = uri, &f
				return s.opened()
			}
		}
	}
	return spot{}, denied(uri)
}

// placed resolves the links on the way to the last name, which need not be there; "" when that leads nowhere.
func placed(path string) string {
	for at, rest := filepath.Dir(path), filepath.Base(path); ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if _, there := os.Lstat(at); !errors.Is(there, fs.ErrNotExist) || at == filepath.Dir(at) {
			return ""
		}
	}
}

// stands is false when what was granted has become a link, or lies beyond one: that was not asked for.
func (g Grant) stands() bool {
	real, err := filepath.EvalSymlinks(g.Path)
	return err != nil || real == g.Path
}

// spot is where a path lies below the grant, if it does. A file alone can be read and written, and stays where it is.
func (g Grant) spot(path string, why purpose) (spot, bool) {
	if why != reading && !g.Write || !g.Dir && (why == renaming || path != g.Path) {
		return spot{}, false
	}
	if !g.Dir {
		return spot{dir: filepath.Dir(g.Path), rel: filepath.Base(g.Path), alone: true}, true
	}
	rel, err := filepath.Rel(g.Path, path)
	return spot{dir: g.Path, rel: rel}, err == nil && filepath.IsLocal(rel)
}

func (s spot) opened() (spot, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return spot{}, problem(s.uri, err)
	}
	s.root = root
	if err := s.checkRoot(); err != nil {
		root.Close()
		return spot{}, problem(s.uri, err)
	}
	return s, nil
}

// still fails when a file that was granted alone is a link by now.
func (s *spot) still() error {
	if !s.alone {
		return nil
	}
	info, err := s.root.Lstat(s.rel)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return denied(s.uri)
	}
	return err
}

// Open reports whether a URI may be read, links followed; nothing need be there yet.
func (f Files) Open(uri ahp.URI) error { return f.reaches(uri, reading) }

// OpenToWrite reports whether it may be written, too.
func (f Files) OpenToWrite(uri ahp.URI) error { return f.reaches(uri, writing) }

func (f Files) reaches(uri ahp.URI, why purpose) error {
	s, err := f.open(uri, why)
	if err != nil {
		return err
	}
	defer s.root.Close()
	_, err = within(&s, (*os.Root).Stat)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return problem(uri, err)
}
