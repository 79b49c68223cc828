package changeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// AddWorktree makes a worktree of the repository around a directory, and returns that directory's
// path in it. Error: ErrConflict, without a repository or commit, or if the branch exists.
func (s *Service) AddWorktree(ctx context.Context, ws machine.Workspace,
	n machine.NewWorktree) (machine.Worktree, string, error) {
	src, err := s.locate(ctx, ws, n.Dir)
	if err != nil {
		return machine.Worktree{}, "", err
	}
	if src.gitDir == "" {
		return machine.Worktree{}, "", fmt.Errorf("%w: %s is not in a git repository, so it has no worktrees",
			machine.ErrConflict, n.Dir)
	}
	if s.cfg.Worktrees == "" || n.Name != filepath.Base(n.Name) || !filepath.IsLocal(n.Name) {
		return machine.Worktree{}, "", fmt.Errorf("%q cannot be the name of a worktree", n.Name)
	}
	at := filepath.Join(s.cfg.Worktrees, n.Name, filepath.Base(n.Dir))
	w := machine.Worktree{Repo: src.top, Dir: at, Branch: n.Branch}
	if w.Base, err = s.commitOf(ctx, src, n.Base); err != nil {
		return machine.Worktree{}, "", err
	}
	if err := src.checkTree(ctx); err != nil {
		return machine.Worktree{}, "", err
	}
	if w.Into, err = s.ask(ctx, src, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		return machine.Worktree{}, "", err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return machine.Worktree{}, "", err
	}
	src.sandbox = n.Sandbox
	if err := s.makeWorktree(ctx, src, w); err != nil {
		return machine.Worktree{}, "", conflictFromGit(err)
	}
	return w, filepath.Join(at, filepath.FromSlash(src.prefix)), nil
}

// conflictFromGit converts git's own refusal to ErrConflict: nothing was changed.
func conflictFromGit(err error) error {
	if hasExited(err) {
		return fmt.Errorf("%w: %w", machine.ErrConflict, err)
	}
	return err
}

// MergeWorktree merges the branch of a work tree into its origin, and returns the number of
// commits. It aborts a merge that fails. Error: ErrConflict, with what to do.
func (s *Service) MergeWorktree(ctx context.Context, ws machine.Workspace,
	w machine.Worktree) (commits int, err error) {
	if err := s.clean(ctx, ws, w); err != nil {
		return 0, err
	}
	home, err := s.locate(ctx, ws, w.Repo)
	if err == nil {
		err = home.checkTree(ctx)
	}
	if err != nil {
		return 0, err
	}
	switch now, err := s.ask(ctx, home, "symbolic-ref", "--quiet", "--short", "HEAD"); {
	case err != nil:
		return 0, err
	case w.Into == "" || now != w.Into:
		return 0, fmt.Errorf("%w: %s has %s checked out, not %s, which the worktree came from. Check that out, or "+
			"merge %s in a terminal",
			machine.ErrConflict, w.Repo, or(now, "no branch"), or(w.Into, "a branch"), w.Branch)
	}
	ahead, err := s.ask(ctx, home, "rev-list", "--count", "HEAD.."+refOf(w))
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(ahead, &commits); err != nil || commits == 0 {
		return 0, fmt.Errorf("%w: there is nothing to merge. %s already has everything in %s", machine.ErrConflict,
			w.Into, w.Branch)
	}
	merge := run{of: home, dir: w.Repo, acting: true, box: s.boxAround(home, home.top),
		args: []string{"merge", "--quiet", "--no-edit", "-m", "Merge " + w.Branch, refOf(w)}}
	if name, address, err := s.committer(ctx, home); err == nil { // otherwise git reports the missing identity
		merge.env = committerEnv(name, address)
	}
	defer s.endBox(merge.box)
	if _, err := s.git(ctx, merge); err != nil {
		merge.args = []string{"merge", "--abort"}
		if _, undone := s.git(ctx, merge); undone != nil && !hasExited(undone) {
			return 0, errors.Join(err, undone)
		}
		if !hasExited(err) {
			return 0, err
		}
		return 0, fmt.Errorf("%w: nothing was merged: %w. Merge %s into the worktree, resolve the conflicts there "+
			"and commit, then try again", machine.ErrConflict, err, w.Into)
	}
	return commits, nil
}

// Standing returns the state of a work tree.
func (s *Service) Standing(ctx context.Context, ws machine.Workspace,
	w machine.Worktree) (st machine.WorktreeStanding, err error) {
	if _, err := os.Stat(w.Dir); err != nil {
		return machine.WorktreeStanding{Gone: true}, nil
	}
	ctx, done := s.reading(ctx)
	defer done()
	if st.Uncommitted, err = s.uncommitted(ctx, ws, w); err != nil || w.Into == "" {
		return st, err
	}
	home, err := s.locate(ctx, ws, w.Repo)
	if err != nil {
		return st, err
	}
	ahead, err := s.ask(ctx, home, "rev-list", "--count", "refs/heads/"+w.Into+".."+refOf(w))
	if _, scanned := fmt.Sscan(ahead, &st.Commits); err == nil && ahead != "" {
		err = scanned
	}
	return st, err
}

// uncommitted counts the files that a commit would contain. It avoids git status, which would run
// the repository's filters.
func (s *Service) uncommitted(ctx context.Context, ws machine.Workspace, w machine.Worktree) (int, error) {
	r := s.repo(ws, w.Dir)
	src, x, err := r.readIndex(ctx)
	if err != nil {
		return 0, err
	}
	if src.gitDir == "" {
		return 0, fmt.Errorf("%w: %s is no longer a git worktree", machine.ErrConflict, w.Dir)
	}
	now, err := s.LookAtAll(ctx, ws, []string{w.Dir})
	if err != nil {
		return 0, err
	}
	head, err := s.Head(ctx, ws, []string{w.Dir})
	if err != nil {
		return 0, err
	}
	files, err := s.Compare(ctx, ws, head, now)
	for _, f := range files {
		x.files[f.Path] = machine.StagedFile{}
	}
	return len(x.files), err
}

// clean returns an error if a work tree has uncommitted changes.
func (s *Service) clean(ctx context.Context, ws machine.Workspace, w machine.Worktree) error {
	n, err := s.uncommitted(ctx, ws, w)
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%w: the worktree has changes: %s not committed. Commit or discard first",
			machine.ErrConflict, fileCount(n))
	}
	return nil
}

func fileCount(n int) string {
	if n == 1 {
		return "one file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// RemoveWorktree removes a work tree and its branch. Without force, it refuses if changes that are
// not committed, or commits on no other branch, would be lost. It runs none of the repository's
// programs. Error: ErrConflict.
func (s *Service) RemoveWorktree(ctx context.Context, ws machine.Workspace, w machine.Worktree, force bool) error {
	home, err := s.locate(ctx, ws, w.Repo)
	if err != nil {
		return err
	}
	if _, err := os.Stat(w.Dir); err == nil {
		if err := s.removable(ctx, ws, home, w, force); err != nil {
			return err
		}
		if _, err := s.git(ctx, run{of: home, dir: w.Repo,
			args: []string{"worktree", "remove", "--force", "--", w.Dir}}); err != nil {
			return conflictFromGit(err)
		}
	}
	if _, err := s.git(ctx, run{of: home, dir: w.Repo, args: []string{"worktree", "prune"}}); err != nil {
		return conflictFromGit(err)
	}
	if there, err := s.ask(ctx, home, "rev-parse", "--verify", "--quiet", refOf(w)); err != nil || there == "" {
		return err
	}
	_, err = s.git(ctx, run{of: home, dir: w.Repo,
		args: []string{"branch", "--quiet", "-D", "--", w.Branch}})
	return conflictFromGit(err)
}

func (s *Service) removable(ctx context.Context, ws machine.Workspace, home source, w machine.Worktree,
	force bool) error {
	if force {
		return nil
	}
	if err := s.clean(ctx, ws, w); err != nil {
		return err
	}
	out, err := s.theirs(ctx, home, "rev-list", "--count", refOf(w), "--not", "--exclude="+w.Branch, "--branches",
		"--remotes", "--tags")
	if err != nil {
		return conflictFromGit(err)
	}
	if n := strings.TrimSpace(string(out)); n != "0" {
		return fmt.Errorf("%w: %s commits of %s are on no other branch. Merge them first", machine.ErrConflict, n,
			w.Branch)
	}
	return nil
}

func refOf(w machine.Worktree) string { return "refs/heads/" + w.Branch }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
