package changeset

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// admission decides which paths git may access during one look at a directory. It says nothing
// about later looks.
type admission struct {
	s     *Service
	ws    machine.Workspace
	asks  bool     // the owner's grants count
	roots []string // symbolic links resolved
}

// admit checks that a repository is within the session's directories, has one of the external
// layouts that both sides confirm, or was granted by the owner. It follows what git reads,
// including links and alternates, and refuses special files there.
func (s *Service) admit(ctx context.Context, ws machine.Workspace, l layout) (*admission, error) {
	if err := checkUserFiles(); err != nil {
		return nil, err
	}
	a := &admission{s: s, ws: ws, asks: true}
	return a, a.admit(ctx, l)
}

func (a *admission) admit(ctx context.Context, l layout) error {
	if a.roots = append(a.roots, l.dir); l.top == "" {
		return nil
	}
	for _, dir := range a.ws.Dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			a.roots = append(a.roots, real)
		}
	}
	if err := a.layout(ctx, l); err != nil {
		return err
	}
	if err := l.checkFiles(a); err != nil {
		return err
	}
	return a.alternates(filepath.Join(l.common, "objects"), mostAlternates)
}

// checkLayout finds the layout of a directory and admits it.
func (s *Service) checkLayout(ctx context.Context, ws machine.Workspace, dir string) error {
	l, err := findLayout(dir)
	if err == nil {
		_, err = s.admit(ctx, ws, l)
	}
	return err
}

// layout admits the git directory and the common one.
func (a *admission) layout(ctx context.Context, l layout) error {
	marker := filepath.Join(l.top, ".git")
	info, err := os.Lstat(marker)
	if err != nil {
		return err
	}
	switch back := false; {
	case info.IsDir():
		a.roots = append(a.roots, l.gitDir)
	case info.Mode().IsRegular() && l.pointsBack():
		a.roots = append(a.roots, l.gitDir, l.common)
	case info.Mode().IsRegular() && l.common == l.gitDir && !a.holds(l.gitDir):
		if back, err = a.s.isSubmodule(ctx, l); err != nil {
			return err
		}
		if back {
			a.roots = append(a.roots, l.gitDir)
		}
	}
	if err := a.pass(marker, l.gitDir); err != nil {
		return err
	}
	return a.pass(filepath.Join(l.gitDir, "commondir"), l.common)
}

// pointsBack reports whether the git directory belongs to a linked work tree and names this one.
func (l layout) pointsBack() bool {
	worktrees := filepath.Dir(l.gitDir)
	data, err := readPlain(filepath.Join(l.gitDir, "gitdir"), mostPointer)
	if err != nil || filepath.Base(worktrees) != "worktrees" || filepath.Dir(worktrees) != l.common {
		return false
	}
	return sameFile(joinPath(l.gitDir, strings.TrimRight(string(data), "\r\n")), filepath.Join(l.top, ".git"))
}

// isSubmodule reports whether the settings in a git directory name this work tree.
func (s *Service) isSubmodule(ctx context.Context, l layout) (bool, error) {
	for _, name := range []string{"config.worktree", "config"} {
		file := filepath.Join(l.gitDir, name)
		if err := checkPlain(file); err != nil {
			return false, err
		}
		out, err := s.git(ctx, run{of: source{top: l.top}, dir: l.top, env: append(isolated(), "GIT_DIR="+os.DevNull),
			args: []string{"config", "--file", file, "--no-includes", "-z", "--get", "core.worktree"}})
		if err != nil && !hasExited(err) {
			return false, err
		}
		if top := strings.TrimSuffix(string(out), "\x00"); err == nil && sameFile(joinPath(l.gitDir, top), l.top) {
			return true, nil
		}
	}
	return false, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// pass admits a path, or refuses it with the file that leads there.
func (a *admission) pass(by, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || a.holds(real) || real == os.DevNull {
		return nil // a missing target leads nowhere
	}
	out := machine.Outside{By: by, Path: real}
	if !a.asks || !a.s.anywhere && !slices.Contains(a.ws.Granted, out) {
		return &machine.OutsideError{Outside: out}
	}
	if refuse := a.s.cfg.Refuse; refuse != nil && refuse(real) != nil {
		return &machine.OutsideError{Outside: out}
	}
	a.roots = append(a.roots, real)
	return nil
}

// holds reports whether a path is in one of the roots. The host's data counts only for roots inside
// it.
func (a *admission) holds(path string) bool {
	return slices.ContainsFunc(a.roots, func(root string) bool {
		return inside(path, root) && !slices.ContainsFunc(a.s.ignoredDirs(), func(own string) bool {
			return inside(path, own) && !inside(root, own)
		})
	})
}

// entry checks one entry of a git directory.
func (a *admission) entry(dir string, d fs.DirEntry) error {
	if err := checkEntry(dir, d); err != nil || d.Type()&fs.ModeSymlink == 0 {
		return err
	}
	name := filepath.Join(dir, d.Name())
	return a.pass(name, name)
}

const mostAlternates = 6 // levels of alternates, the same limit as git's

// alternates admits the repositories whose objects are borrowed. Git has no option to ignore
// alternates.
func (a *admission) alternates(objects string, left int) error {
	by := filepath.Join(objects, "info", "alternates")
	data, err := readPlain(by, mostMirrored)
	if err != nil || left == 0 {
		return onlySpecial(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if quoted, err := strconv.Unquote(line); line[0] == '"' && err == nil {
			line = quoted
		}
		from := joinPath(objects, line)
		if err := a.pass(by, from); err != nil {
			return err
		}
		if err := a.alternates(from, left-1); err != nil {
			return err
		}
	}
	return nil
}

const elsewhere = "its repository is elsewhere" // why the commit of a nested repository is not shown

// nestedElsewhere reports whether a nested repository leads out of the session's directories. The
// owner's grants do not count.
func (s *Service) nestedElsewhere(ctx context.Context, src source, ws machine.Workspace, dir string) bool {
	l, err := findLayout(dir)
	if err != nil || l.top != l.dir {
		return err != nil // a directory without a repository is fine
	}
	a := &admission{s: s, ws: ws, roots: []string{src.root(), src.common}}
	return a.admit(ctx, l) != nil
}
