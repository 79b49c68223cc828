package resource

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
)

// purpose is what a spot is looked for.
type purpose int

const (
	reading  purpose = iota
	writing          // into a file, or what a link leads to
	renaming         // the name itself: made, taken away, moved
)

// Look finds what a URI stands for, links resolved, and why a guard opens it to no one.
func Look(uri ahp.URI, g *guard.Guard) (machine.FoundFile, error) {
	path, err := Path(uri)
	if err != nil {
		return machine.FoundFile{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return machine.FoundFile{}, problem(uri, err)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return machine.FoundFile{}, problem(uri, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return machine.FoundFile{}, ahp.Errorf(ahp.CodePermissionDenied, "%.200s is neither a file nor a directory",
			uri)
	}
	found := machine.FoundFile{Path: real, Dir: info.IsDir()}
	err = g.CheckPath(real)
	if err == nil && found.Dir {
		err = g.CheckWhole(real)
	}
	if err != nil {
		found.Closed = guard.Reason(err)
	}
	return found, nil
}

// granted finds the grant that a path lies under. Paths are compared with their links resolved, so that a link put
// in the way later leads nowhere; what the last name itself stands for is its root's to follow.
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
			if s, ok := spotIn(g, name, why); ok && name != "" && stands(g) {
				s.uri, s.files = uri, &f
				return s.opened()
			}
		}
	}
	return spot{}, denied(uri)
}

// placed resolves the links on the way to the last name, which need not be there; "" when that leads nowhere.
func placed(path string) string {
	for at, rest := filepath.Dir(path), filepath.Base(path); ; at, rest = filepath.Dir(at),
		filepath.Join(filepath.Base(at), rest) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if _, there := os.Lstat(at); !errors.Is(there, fs.ErrNotExist) || at == filepath.Dir(at) {
			return ""
		}
	}
}

// stands reports whether what was granted has not become a link, nor lies beyond one: that was not asked for.
func stands(g machine.FileGrant) bool {
	real, err := filepath.EvalSymlinks(g.Path)
	return err != nil || real == g.Path
}

// spotIn returns where a path lies below a grant, if it does. A file alone can be read and written, and stays where it
// is.
func spotIn(g machine.FileGrant, path string, why purpose) (spot, bool) {
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

// CheckOpen refuses a URI that may not be read, or written, links followed; nothing need be there yet.
func (f Files) CheckOpen(uri ahp.URI, write bool) error {
	why := reading
	if write {
		why = writing
	}
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
