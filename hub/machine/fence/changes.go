package fence

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// changes limits machine.Changes to open directories. The hub names sessions' directories and kept content, and may be
// hostile: each path is checked, and no name may be read by git as anything else.
type changes struct {
	machine.Changes
	f *Machine
}

// Changes returns the recorder of this computer's changes, or nil if none are recorded.
func (f *Machine) Changes() machine.Changes {
	c := f.Machine.Changes()
	if c == nil {
		return nil
	}
	return changes{c, f}
}

// errNotNamed refuses a name that git cannot have given.
var errNotNamed = errors.New("this is no name of a version, a file or a branch")

// checkPlace refuses a path that is, or leads, outside of the open directories.
func (c changes) checkPlace(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("%.200q is not an absolute path", path)
	}
	if err := c.f.cfg.Guard.CheckPath(path); err != nil {
		return fmt.Errorf("%.200s cannot be used: %w", path, err)
	}
	return nil
}

func (c changes) checkPlaces(paths ...string) error {
	for _, p := range paths {
		if err := c.checkPlace(p); err != nil {
			return err
		}
	}
	return nil
}

func checkOID(oids ...string) error {
	for _, oid := range oids {
		if oid != "" && !machine.IsOID(oid) {
			return errNotNamed
		}
	}
	return nil
}

// checkMode refuses strings that are not a file mode.
func checkMode(modes ...string) error {
	for _, m := range modes {
		if len(m) > 6 || strings.Trim(m, "01234567") != "" {
			return errNotNamed
		}
	}
	return nil
}

// checkLocal refuses paths whose names lead out of their worktree or into git's own directory.
func checkLocal(paths ...string) error {
	for _, p := range paths {
		if p != "" && (!filepath.IsLocal(p) || strings.ContainsRune(p, 0) ||
			slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool {
				return strings.EqualFold(name,
					".git")
			})) {
			return errNotNamed
		}
	}
	return nil
}

// checkBranch refuses names that git would read as an option or as two lines.
func checkBranch(names ...string) error {
	for _, n := range names {
		if strings.HasPrefix(n, "-") || strings.ContainsAny(n, "\x00\n\r") {
			return errNotNamed
		}
	}
	return nil
}

func (c changes) checkTrees(list ...machine.Tree) error {
	for _, t := range list {
		if err := errors.Join(c.checkPlaces(t.Dir, t.Top), checkOID(t.OID), checkLocal(t.Prefix)); err != nil {
			return err
		}
		for _, s := range t.Skipped {
			if err := checkLocal(s.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c changes) checkChanged(files []machine.ChangedFile) error {
	for _, f := range files {
		if err := errors.Join(c.checkPlace(f.Top), checkLocal(f.Path, f.OldPath), checkOID(f.OldOID, f.NewOID),
			checkMode(f.OldMode, f.NewMode)); err != nil {
			return err
		}
		if f.Path == "" {
			return errNotNamed
		}
	}
	return nil
}

func (c changes) checkRewrite(r machine.Rewrite) error {
	for _, f := range r.Files {
		if err := errors.Join(c.checkPlaces(f.Dir, f.Top), checkLocal(f.Path), checkOID(f.Was.OID, f.Left.OID),
			checkMode(f.Was.Mode, f.Left.Mode)); err != nil {
			return err
		}
		if f.Path == "" {
			return errNotNamed
		}
	}
	return nil
}

// workspace returns a workspace as this computer allows it: its repositories lead only to open directories.
func (c changes) workspace(ws machine.Workspace) machine.Workspace {
	out := machine.Workspace{Session: ws.Session, Sandboxed: ws.Sandboxed || c.f.HasSandboxes()}
	for _, dir := range ws.Dirs {
		if c.checkPlace(dir) == nil {
			out.Dirs = append(out.Dirs, dir)
		}
	}
	for _, g := range ws.Granted {
		if c.checkPlace(g.Path) == nil {
			out.Granted = append(out.Granted, g)
		}
	}
	return out
}

// gitWorkspace is workspace for a call in which git runs the repository's hooks and filters.
func (c changes) gitWorkspace(ws machine.Workspace) (machine.Workspace, error) {
	out := c.workspace(ws)
	var err error
	out.Sandbox, err = c.f.confine(ws.Sandbox, sandbox.Policy{Session: nameOf(ws.Session), Write: out.Dirs})
	return out, err
}

// look checks directories and the result of call: a repository around a directory may extend beyond what is open.
func (c changes) look(ws machine.Workspace, dirs []string, call func(machine.Workspace) (machine.Checkpoint, error)) (
	machine.Checkpoint, error,
) {
	if err := c.checkPlaces(dirs...); err != nil {
		return machine.Checkpoint{}, err
	}
	out, err := call(c.workspace(ws))
	if err != nil {
		return out, err
	}
	for _, t := range out.Trees {
		if err := c.checkTop(t.Dir, t.Top); err != nil {
			return machine.Checkpoint{}, err
		}
	}
	return out, nil
}

// checkTop refuses a repository that extends beyond the open directories.
func (c changes) checkTop(dir, top string) error {
	if err := c.checkPlace(top); err != nil {
		return fmt.Errorf("the repository of %s is not open as a whole: %w", dir, err)
	}
	return nil
}

func (c changes) Checkpoint(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return c.Changes.Checkpoint(ctx, ws, dirs)
	})
}

func (c changes) LookAtAll(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return c.Changes.LookAtAll(ctx, ws, dirs)
	})
}

func (c changes) Look(ctx context.Context, ws machine.Workspace, dirs, paths []string) (machine.Checkpoint, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return c.checkPlace(p) != nil })
	return c.look(ws, dirs, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return c.Changes.Look(ctx, ws, dirs, paths)
	})
}

func (c changes) Head(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return c.Changes.Head(ctx, ws,
			dirs)
	})
}

func (c changes) Branch(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return c.look(ws, dirs, func(ws machine.Workspace) (machine.Checkpoint, error) {
		return c.Changes.Branch(ctx, ws, dirs)
	})
}

func (c changes) Keep(ctx context.Context, ws machine.Workspace, kept machine.Checkpoint) error {
	if err := c.checkTrees(kept.Trees...); err != nil {
		return err
	}
	return c.Changes.Keep(ctx, c.workspace(ws), kept)
}

func (c changes) Adopt(ctx context.Context, ws machine.Workspace, from string, dirs []string) error {
	if err := c.checkPlaces(dirs...); err != nil {
		return err
	}
	return c.Changes.Adopt(ctx, c.workspace(ws), from, dirs)
}

func (c changes) Compare(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint) (
	[]machine.ChangedFile, error,
) {
	if err := errors.Join(c.checkTrees(from.Trees...), c.checkTrees(to.Trees...)); err != nil {
		return nil, err
	}
	return c.Changes.Compare(ctx, c.workspace(ws), from, to)
}

func (c changes) Patch(ctx context.Context, ws machine.Workspace, from, to machine.Checkpoint,
	only ...machine.ChangedFile) ([]byte, error) {
	if err := errors.Join(c.checkTrees(from.Trees...), c.checkTrees(to.Trees...), c.checkChanged(only)); err != nil {
		return nil, err
	}
	return c.Changes.Patch(ctx, c.workspace(ws), from, to, only...)
}

func (c changes) Watch(ctx context.Context, ws machine.Workspace, dirs []string, most int) (
	machine.ChangesWatch, error,
) {
	if err := c.checkPlaces(dirs...); err != nil {
		return nil, err
	}
	return c.Changes.Watch(ctx, c.workspace(ws), dirs, most)
}

func (c changes) CheckedOut(ctx context.Context, ws machine.Workspace, dir string) (machine.CheckedOut, error) {
	if err := c.checkPlace(dir); err != nil {
		return machine.CheckedOut{}, err
	}
	return c.Changes.CheckedOut(ctx, c.workspace(ws), dir)
}

func (c changes) Staging(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Staging, error) {
	if err := c.checkPlaces(dirs...); err != nil {
		return machine.Staging{}, err
	}
	out, err := c.Changes.Staging(ctx, c.workspace(ws), dirs)
	for top := range out.Tops {
		if err := c.checkTop(top, top); err != nil {
			return machine.Staging{}, err
		}
	}
	return out, err
}

func (c changes) Staged(ctx context.Context, ws machine.Workspace, dirs []string) (int, error) {
	if err := c.checkPlaces(dirs...); err != nil {
		return 0, err
	}
	return c.Changes.Staged(ctx, c.workspace(ws), dirs)
}

// IsCurrent reports whether a stamp is up to date. It reveals nothing about files outside.
func (c changes) IsCurrent(ctx context.Context, stamp machine.Stamp) bool {
	for file := range stamp {
		if c.checkPlace(file) != nil {
			return false
		}
	}
	return c.Changes.IsCurrent(ctx, stamp)
}

func (c changes) Files(ctx context.Context, ws machine.Workspace, dirs []string, most int) ([]string, error) {
	if err := c.checkPlaces(dirs...); err != nil {
		return nil, err
	}
	return c.Changes.Files(ctx, c.workspace(ws), dirs, most)
}

func (c changes) Track(ctx context.Context, ws machine.Workspace, dir, path string) (machine.Tracking, error) {
	if err := c.checkPlaces(dir, path); err != nil {
		return machine.Ignored, err
	}
	return c.Changes.Track(ctx, c.workspace(ws), dir, path)
}

func (c changes) TrackedFiles(ctx context.Context, ws machine.Workspace, dirs []string) ([]string, error) {
	if err := c.checkPlaces(dirs...); err != nil {
		return nil, err
	}
	paths, err := c.Changes.TrackedFiles(ctx, c.workspace(ws), dirs)
	return slices.DeleteFunc(paths, func(p string) bool { return c.checkPlace(p) != nil }), err
}

func (c changes) Refs(ctx context.Context, ws machine.Workspace, dir, query string, most int) ([]machine.Ref, error) {
	if err := c.checkPlace(dir); err != nil {
		return nil, err
	}
	return c.Changes.Refs(ctx, c.workspace(ws), dir, query, most)
}
