package changeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is a work tree of a session's own, on a branch of its own. It is a document: store it as JSON.
type Worktree struct {
	Repo   string `json:"repo"`           // the top of the work tree it was made of
	Dir    string `json:"dir"`            // its own top
	Branch string `json:"branch"`         // its branch
	Into   string `json:"into,omitempty"` // the branch that Repo had checked out; "" for none
	Base   string `json:"base"`           // the commit it began at
}

// AddWorktree makes a work tree of the repository around dir, at a path that is free, on a new
// branch that begins at base:
// a branch, tag or commit, "" for what is checked out. It returns where dir is in it. Errors:
// ErrConflict, when there is no repository or commit to make it of, or the branch exists.
func (s *Service) AddWorktree(ctx context.Context, session, dir, at, branch, base string) (Worktree, string, error) {
	src, err := s.locate(ctx, session, dir)
	if err != nil {
		return Worktree{}, "", err
	}
	if src.gitDir == "" {
		return Worktree{}, "", fmt.Errorf("%w: %s is in no git repository, so it has no work trees", ErrConflict, dir)
	}
	w := Worktree{Repo: src.top, Dir: at, Branch: branch}
	if w.Base, err = s.commitOf(ctx, src, base); err != nil {
		return Worktree{}, "", err
	}
	if err := src.checkTree(ctx); err != nil {
		return Worktree{}, "", err
	}
	if w.Into, err = s.ask(ctx, src, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		return Worktree{}, "", err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return Worktree{}, "", err
	}
	if _, err := s.git(ctx, run{of: src, dir: src.top, acting: true,
		args: []string{"worktree", "add", "--quiet", "-b", branch, "--", at, w.Base}}); err != nil {
		return Worktree{}, "", said(err)
	}
	return w, filepath.Join(at, filepath.FromSlash(src.prefix)), nil
}

// said makes git's own no a conflict: nothing was changed.
func said(err error) error {
	if hasExited(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// MergeWorktree brings the branch of a work tree back to where it came from, and returns how many commits that were. A
// merge that does not go through is taken back. Errors: ErrConflict, with what to do.
func (s *Service) MergeWorktree(ctx context.Context, w Worktree) (commits int, err error) {
	if err := s.clean(ctx, w); err != nil {
		return 0, err
	}
	home, err := s.locate(ctx, "", w.Repo)
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
		return 0, fmt.Errorf("%w: %s has %s checked out and not %s, where the work tree came from: check that out, or merge %s by hand",
			ErrConflict, w.Repo, or(now, "no branch"), or(w.Into, "a branch"), w.Branch)
	}
	ahead, err := s.ask(ctx, home, "rev-list", "--count", "HEAD.."+w.ref())
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(ahead, &commits); err != nil || commits == 0 {
		return 0, fmt.Errorf("%w: there is nothing to merge: %s has everything of %s already", ErrConflict, w.Into, w.Branch)
	}
	args := []string{"merge", "--quiet", "--no-edit", "-m", "Merge " + w.Branch, w.ref()}
	if _, err := s.git(ctx, run{of: home, dir: w.Repo, acting: true, args: args}); err != nil {
		if _, undone := s.git(ctx, run{of: home, dir: w.Repo, acting: true,
			args: []string{"merge", "--abort"}}); undone != nil && !hasExited(undone) {
			return 0, errors.Join(err, undone)
		}
		if !hasExited(err) {
			return 0, err
		}
		return 0, fmt.Errorf("%w: nothing was merged: %w. Merge %s into the work tree, settle it there and commit, then try again", ErrConflict, err, w.Into)
	}
	return commits, nil
}

// Standing is how far a work tree is from where it came from.
type Standing struct {
	Commits     int // of its branch that Into has not; 0 when there is no such branch
	Uncommitted int // files
	Gone        bool
}

// Standing looks at a work tree.
func (s *Service) Standing(ctx context.Context, w Worktree) (st Standing, err error) {
	if _, err := os.Stat(w.Dir); err != nil {
		return Standing{Gone: true}, nil
	}
	ctx, done := s.reading(ctx)
	defer done()
	if st.Uncommitted, err = s.uncommitted(ctx, w); err != nil || w.Into == "" {
		return st, err
	}
	home, err := s.locate(ctx, "", w.Repo)
	if err != nil {
		return st, err
	}
	ahead, err := s.ask(ctx, home, "rev-list", "--count", "refs/heads/"+w.Into+".."+w.ref())
	if _, scanned := fmt.Sscan(ahead, &st.Commits); err == nil && ahead != "" {
		err = scanned
	}
	return st, err
}

// uncommitted counts the files that a commit would hold.
func (s *Service) uncommitted(ctx context.Context, w Worktree) (int, error) {
	src, err := s.locate(ctx, "", w.Dir)
	if err == nil {
		err = src.checkTree(ctx)
	}
	if err != nil {
		return 0, err
	}
	if src.gitDir == "" {
		return 0, fmt.Errorf("%w: %s is no work tree of git any more", ErrConflict, w.Dir)
	}
	out, err := s.theirs(ctx, src, "status", "--porcelain", "-z", "--no-renames")
	return len(fields(out)), said(err)
}

// clean wants everything in a work tree to be committed.
func (s *Service) clean(ctx context.Context, w Worktree) error {
	n, err := s.uncommitted(ctx, w)
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%w: in the work tree %s not committed: commit or discard first", ErrConflict, fileCount(n))
	}
	return nil
}

func fileCount(n int) string {
	if n == 1 {
		return "one file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// RemoveWorktree takes a work tree and its branch away. Unless force is set it does not when something would be lost: a
// change that is not committed, or a commit that is on no other branch. Errors: ErrConflict.
func (s *Service) RemoveWorktree(ctx context.Context, w Worktree, force bool) error {
	home, err := s.locate(ctx, "", w.Repo)
	if err != nil {
		return err
	}
	if _, err := os.Stat(w.Dir); err == nil {
		if err := s.removable(ctx, home, w, force); err != nil {
			return err
		}
		if _, err := s.git(ctx, run{of: home, dir: w.Repo, acting: true,
			args: []string{"worktree", "remove", "--force", "--", w.Dir}}); err != nil {
			return said(err)
		}
	}
	if _, err := s.git(ctx, run{of: home, dir: w.Repo, acting: true, args: []string{"worktree", "prune"}}); err != nil {
		return said(err)
	}
	if there, err := s.ask(ctx, home, "rev-parse", "--verify", "--quiet", w.ref()); err != nil || there == "" {
		return err
	}
	_, err = s.git(ctx, run{of: home, dir: w.Repo, acting: true,
		args: []string{"branch", "--quiet", "-D", "--", w.Branch}})
	return said(err)
}

func (s *Service) removable(ctx context.Context, home source, w Worktree, force bool) error {
	if force {
		return nil
	}
	if err := s.clean(ctx, w); err != nil {
		return err
	}
	out, err := s.theirs(ctx, home, "rev-list", "--count", w.ref(), "--not", "--exclude="+w.Branch, "--branches",
		"--remotes", "--tags")
	if err != nil {
		return said(err)
	}
	if n := strings.TrimSpace(string(out)); n != "0" {
		return fmt.Errorf("%w: %s commits of %s are on no other branch: merge them first", ErrConflict, n, w.Branch)
	}
	return nil
}

func (w Worktree) ref() string { return "refs/heads/" + w.Branch }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
