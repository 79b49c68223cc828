package changeset

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// known is the result of the last look at a directory. A look at a few files continues from there.
type known struct {
	src  source
	tree machine.Tree
	from string // version of the user's index that the private one was copied from
	set  string // version of the repository's settings
}

// Look takes a Checkpoint when the files written since the last one are known, from a watch: it
// reads only those. Paths are absolute, with links resolved as Walk resolves them; a directory
// stands for its content. It reads everything after a change of ignore rules or of the user's
// index, and when very many files were written.
func (s *Service) Look(ctx context.Context, ws machine.Workspace, dirs, paths []string) (machine.Checkpoint, error) {
	return s.each(ctx, ws, dirs, func(r *repo) (machine.Tree, error) { return r.look(ctx, paths) })
}

// mostNarrow is how many written files are looked at one by one; with more, looking at everything is not slower.
const mostNarrow = 500

func (r *repo) look(ctx context.Context, paths []string) (machine.Tree, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return machine.Tree{}, err
	}
	defer unlock()
	k := r.s.lastLook(r)
	if k == nil || !r.sameIndex(k) {
		return r.takeAll(ctx)
	}
	if same, err := r.sameLayout(ctx, k); err != nil {
		return machine.Tree{}, err
	} else if !same {
		return r.takeAll(ctx)
	}
	written, enough := k.src.narrow(paths)
	if !enough {
		return r.takeAll(ctx)
	}
	if len(written) == 0 {
		return k.tree, nil
	}
	r.s.forgetLook(r) // until it has succeeded
	return r.takeSome(ctx, *k, written)
}

// narrow returns the paths inside the directory, relative to the worktree; enough is false when
// they may affect how others are read.
func (src source) narrow(paths []string) (written []string, enough bool) {
	root := src.root()
	for _, p := range paths {
		if !inside(p, root) {
			continue
		}
		rel, err := filepath.Rel(src.top, p)
		if err != nil || p == root || isControlFile(filepath.Base(p)) {
			return nil, false
		}
		written = append(written, filepath.ToSlash(rel))
	}
	slices.Sort(written)
	written = slices.Compact(written)
	return written, len(written) <= mostNarrow
}

// isControlFile reports whether a file of that name affects how others are read.
func isControlFile(name string) bool {
	return name == ".git" || name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules"
}

// root returns the directory with its links resolved, as git names it.
func (src source) root() string { return filepath.Join(src.top, filepath.FromSlash(src.prefix)) }

// takeSome updates the tree for some paths; the lock is held.
func (r *repo) takeSome(ctx context.Context, k known, written []string) (machine.Tree, error) {
	if _, err := os.Stat(k.src.root()); err != nil {
		return r.takeAll(ctx) // returns the error
	}
	if err := k.src.checkAround(ctx, written); err != nil {
		return machine.Tree{}, err
	}
	if err := r.unlockIndex(); err != nil {
		return machine.Tree{}, err
	}
	had, fresh, err := r.listFilesBelow(ctx, k.src, written)
	if err != nil {
		return machine.Tree{}, err
	}
	fresh, skipped := r.affordable(k.src, fresh)
	unread, err := r.store(ctx, k.src, append(had, fresh...))
	if err != nil {
		return machine.Tree{}, err
	}
	t := k.tree
	t.Skipped = bySkippedPath(slices.Concat(outside(k.tree.Skipped, written), skipped, unread))
	if len(had)+len(fresh) > 0 {
		if t.OID, err = r.writeTree(ctx, k.src); err != nil {
			return machine.Tree{}, err
		}
	}
	r.s.remember(r, k.src, t)
	return t, nil
}

// listFilesBelow lists the files at and below some paths: known ones, including deleted ones, and
// new ones that are not ignored. Files outside of a sparse checkout are skipped.
func (r *repo) listFilesBelow(ctx context.Context, src source, written []string) (had, fresh []string, err error) {
	args := []string{"ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--"}
	out, err := r.run(ctx, src, nil, append(args, written...)...)
	for _, line := range fields(out) {
		switch tag, name, _ := strings.Cut(line, " "); tag {
		case "?":
			fresh = append(fresh, name)
		case "S":
		default:
			had = append(had, name)
		}
	}
	slices.Sort(had)
	return slices.Compact(had), fresh, err // conflicts are listed more than once
}

// outside returns the entries of a list that are neither at nor below one of the paths.
func outside(list []machine.SkippedFile, paths []string) []machine.SkippedFile {
	return slices.DeleteFunc(slices.Clone(list), func(s machine.SkippedFile) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return under(s.Path, p) })
	})
}

// sameLayout reports whether the repository is in the same place, and checks its files again, which
// may have changed.
func (r *repo) sameLayout(ctx context.Context, k *known) (bool, error) {
	l, err := findLayout(r.dir)
	if err != nil {
		return false, onlySpecial(err) // a missing directory is looked at as a whole
	}
	if l.top == "" {
		return k.src.gitDir == "", checkUserFiles()
	}
	if l != k.src.found || l.settingsStamp() != k.set {
		return false, nil
	}
	if _, err := r.s.admit(ctx, r.ws, l); err != nil {
		return false, err
	}
	return true, k.src.checkTop()
}

// settingsStamp changes whenever the repository's own settings may have changed.
func (l layout) settingsStamp() string {
	return stampOf(filepath.Join(l.common, "config")) + stampOf(filepath.Join(l.gitDir, "config.worktree"))
}

// sameIndex reports whether the user's index is unchanged since the private one was copied.
func (r *repo) sameIndex(k *known) bool {
	theirs, err := r.indexVersion(k.src)
	return err == nil && theirs == k.from && r.indexFrom() == k.from
}

// indexFrom returns the version of the user's index that the private one was copied from; "" for
// none.
func (r *repo) indexFrom() string {
	mark, err := os.ReadFile(filepath.Join(r.git, "index.from"))
	if err != nil {
		return ""
	}
	return string(mark)
}

func (s *Service) remember(r *repo, src source, t machine.Tree) {
	k := &known{src: src, tree: t, from: r.indexFrom(), set: src.stamp}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.git] = k
}

func (s *Service) lastLook(r *repo) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[r.git]
}

func (s *Service) forgetLook(r *repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, r.git)
}
