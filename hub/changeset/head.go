package changeset

import (
	"context"
	"os"
	"path/filepath"
)

// CheckedOut is what a directory's repository has checked out. The zero value means no repository.
type CheckedOut struct {
	Branch string // "" when it is a commit
	Commit string // short, when no branch is
	head   string // the file that says so, or that would
}

// Stamp changes when the repository may have checked out something else; it is fast.
func (c CheckedOut) Stamp() string { return stampOf(c.head) }

// CheckedOut returns what is checked out around a directory.
func (s *Service) CheckedOut(ctx context.Context, session, dir string) (CheckedOut, error) {
	if _, err := os.Stat(dir); err != nil {
		return CheckedOut{head: dir}, err
	}
	ctx, done := s.reading(ctx)
	defer done()
	src, err := s.locate(ctx, session, dir)
	if err != nil || src.gitDir == "" {
		return CheckedOut{head: filepath.Join(dir, ".git")}, err
	}
	c := CheckedOut{head: filepath.Join(src.gitDir, "HEAD")}
	if c.Branch, err = s.ask(ctx, src, "symbolic-ref", "--quiet", "--short", "HEAD"); c.Branch == "" && err == nil {
		c.Commit, err = s.ask(ctx, src, "rev-parse", "--short", "--verify", "--quiet", "HEAD")
	}
	return c, err
}
