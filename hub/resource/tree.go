package resource

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Limits of one copy, and of a move between roots.
const (
	mostCopied      = 10_000
	mostCopiedBytes = 1 << 30
)

// Mkdir creates a directory and its parents (AHP requirement 179).
func (f Files) Mkdir(uri ahp.URI) error {
	s, err := f.open(uri, renaming)
	if err != nil {
		return err
	}
	defer s.root.Close()
	_, err = within(&s, func(root *os.Root, rel string) (none struct{}, err error) {
		if info, err := root.Stat(rel); err == nil && !info.IsDir() {
			return none, ahp.Errorf(ahp.CodeAlreadyExists, "%.200s is a file", uri)
		}
		return none, root.MkdirAll(filepath.ToSlash(rel), 0o755)
	})
	return problem(uri, err)
}

// Delete removes a file, a link (not its target) or a directory, which must be empty unless recursive (AHP requirement
// 177). It refuses to remove a root.
func (f Files) Delete(uri ahp.URI, recursive bool) error {
	s, err := f.open(uri, renaming)
	if err != nil {
		return err
	}
	defer s.root.Close()
	if s.rel == "." {
		return isRoot(uri)
	}
	if _, err := s.root.Lstat(s.rel); err != nil {
		return problem(uri, err)
	}
	if err := s.checkTaken(); err != nil {
		return problem(uri, err)
	}
	if recursive {
		return problem(uri, s.root.RemoveAll(s.rel))
	}
	err = s.root.Remove(s.rel)
	if errors.Is(err, fs.ErrExist) {
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is not empty. Set recursive to delete all of it", uri)
	}
	return problem(uri, err)
}

func isRoot(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodePermissionDenied,
		"%.200s was opened as a whole, as the directory of a session is: it stays where it is", uri)
}

// Copy copies a file, a link or a whole directory, and replaces the destination unless it is a directory with entries
// (AHP requirement 176). It reads and writes only below the roots.
func (f Files) Copy(ctx context.Context, p ahp.ResourceCopyParams) error {
	return f.transfer(p.Source, p.Destination, reading, p.FailIfExists, func(from, to spot) error {
		return (&copying{ctx: ctx, from: from, to: to}).run()
	})
}

// Move renames a file, with the rules of Copy.
func (f Files) Move(ctx context.Context, p ahp.ResourceMoveParams) error {
	return f.transfer(p.Source, p.Destination, renaming, p.FailIfExists, func(from, to spot) error {
		if from.rel == "." {
			return isRoot(from.uri)
		}
		if from.dir == to.dir {
			return from.root.Rename(from.rel, to.rel)
		}
		if err := (&copying{ctx: ctx, from: from, to: to}).run(); err != nil {
			return err
		}
		return from.root.RemoveAll(from.rel)
	})
}

func (f Files) transfer(source, destination ahp.URI, taking purpose, failIfExists *bool,
	do func(from, to spot) error) error {
	from, err := f.open(source, taking)
	if err != nil {
		return err
	}
	defer from.root.Close()
	to, err := f.open(destination, renaming)
	if err != nil {
		return err
	}
	defer to.root.Close()
	writes.Lock()
	defer writes.Unlock()
	info, err := from.root.Lstat(from.rel)
	if err != nil {
		return problem(source, err)
	}
	if err := from.checkTaken(); err != nil {
		return problem(source, err)
	}
	if err := to.checkName(); err != nil {
		return problem(destination, err)
	}
	if err := to.free(info, from, failIfExists != nil && *failIfExists); err != nil {
		return err
	}
	return problem(destination, do(from, to))
}

// free returns an error unless from may replace whatever is at the spot.
func (s spot) free(info fs.FileInfo, from spot, mustBeFree bool) error {
	if rel, err := filepath.Rel(from.path(), s.path()); info.IsDir() && err == nil && rel != "." &&
		filepath.IsLocal(rel) {
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is inside %.200s", s.uri, from.uri)
	}
	there, err := s.root.Lstat(s.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := s.root.Stat(filepath.Dir(s.rel)); err != nil {
			return problem(URI(filepath.Dir(s.path())), err)
		}
		return nil
	case err != nil:
		return problem(s.uri, err)
	case mustBeFree:
		return ahp.Errorf(ahp.CodeAlreadyExists, "%.200s already exists", s.uri)
	case os.SameFile(info, there):
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s and %.200s are the same", from.uri, s.uri)
	case there.IsDir():
		return ahp.Errorf(ahp.CodeAlreadyExists,
			"%.200s is a directory: delete it first, or choose a name inside of it", s.uri)
	case info.IsDir():
		return ahp.Errorf(ahp.CodeAlreadyExists, "%.200s is a file. Delete it first", s.uri)
	}
	return nil
}

// copying is one running copy.
type copying struct {
	ctx      context.Context
	from, to spot
	entries  int
	bytes    int64
}

// run copies to a temporary name next to the destination, then renames: no partial copy is visible.
func (c *copying) run() error {
	parent := filepath.Dir(c.to.rel)
	part := filepath.Join(parent, ".copy-"+rand.Text()[:12])
	err := c.walk(part)
	if err == nil {
		err = c.to.root.Rename(part, c.to.rel)
	}
	if err != nil {
		return errors.Join(err, c.to.root.RemoveAll(part))
	}
	return nil
}

// walk copies everything; a link stays a link.
func (c *copying) walk(part string) error {
	info, err := c.from.root.Lstat(c.from.rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.entry(c.from.rel, part, fs.FileInfoToDirEntry(info))
	}
	return fs.WalkDir(c.from.root.FS(), filepath.ToSlash(c.from.rel), func(name string, d fs.DirEntry,
		err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.from.rel, filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return c.entry(filepath.FromSlash(name), filepath.Join(part, rel), d)
	})
}

func (c *copying) entry(source, target string, d fs.DirEntry) error {
	if c.entries++; c.entries > mostCopied {
		return ahp.Errorf(ahp.CodeInvalidParams, "%.200s has more than %d entries, the most that can be copied at once",
			c.from.uri, mostCopied)
	}
	info, err := d.Info()
	if err = errors.Join(err, c.ctx.Err()); err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return c.to.root.Mkdir(target, mode.Perm()|0o700)
	case mode&fs.ModeSymlink != 0:
		leads, err := c.from.root.Readlink(source)
		if err != nil {
			return err
		}
		return c.to.root.Symlink(leads, target)
	case mode.IsRegular():
		return c.file(source, target, mode.Perm())
	}
	return ahp.Errorf(ahp.CodeInvalidParams, "%.200s is not a file, link or directory",
		path.Join(c.from.uri, source))
}

func (c *copying) file(source, target string, perm fs.FileMode) (err error) {
	in, err := c.from.root.OpenFile(source, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := c.from.checkFile(in); err != nil {
		return err
	}
	out, err := c.to.root.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, mostCopiedBytes-c.bytes+1))
	if c.bytes += n; err == nil && c.bytes > mostCopiedBytes {
		err = ahp.Errorf(ahp.CodeInvalidParams, "%.200s has more than %d MB, the most that can be copied at once",
			c.from.uri, mostCopiedBytes>>20)
	}
	return errors.Join(broken(c.to.uri, err), out.Close())
}
