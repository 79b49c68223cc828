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

// purpose is what a spot is used for.
type purpose int

const (
	reading  purpose = iota
	writing          // into a file, or into a link's target
	renaming         // the name itself: created, removed or moved
)

// Look returns the file that a URI names, links resolved, and why a guard opens it to no one.
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

// granted returns the grant that contains a path. It compares paths with their links resolved, so that a link created
// later leads nowhere. The grant's root resolves the last name.
func (f Files) granted(path string, uri ahp.URI, why purpose) (spot, error) {
	if len(f.Granted) == 0 {
		return spot{}, denied(uri)
	}
	names := []string{resolveParents(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && why != renaming {
		names = append(names, real)
	}
	for _, name := range names {
		for _, g := range f.Granted {
			if s, ok := spotIn(g, name, why); ok && name != "" && hasNoLinks(g) {
				s.uri, s.files = uri, &f
				return s.opened()
			}
		}
	}
	return spot{}, denied(uri)
}

// resolveParents resolves all links in a path but the last name, which need not exist; "" if that
// leads nowhere.
func resolveParents(path string) string {
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

// hasNoLinks reports whether a granted path still has no links in it: a link's target was not
// granted.
func hasNoLinks(g machine.FileGrant) bool {
	real, err := filepath.EvalSymlinks(g.Path)
	return err != nil || real == g.Path
}

// spotIn returns the spot of a path below a grant, if it is there. A grant of one file allows reading and writing, but
// not renaming.
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

// checkNotReplaced returns an error if a file that was granted alone has become a link.
func (s *spot) checkNotReplaced() error {
	if !s.alone {
		return nil
	}
	info, err := s.root.Lstat(s.rel)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return denied(s.uri)
	}
	return err
}

// CheckOpen refuses a URI that must not be read, or written, with links followed. The file need not exist.
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
