package changeset

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/machine"
)

// CheckedOut returns what is checked out around a directory.
func (s *Service) CheckedOut(ctx context.Context, ws machine.Workspace, dir string) (machine.CheckedOut, error) {
	if _, err := os.Stat(dir); err != nil {
		return machine.CheckedOut{Stamp: stampFiles(dir)}, err
	}
	ctx, done := s.reading(ctx)
	defer done()
	src, err := s.locate(ctx, ws, dir)
	if err != nil || src.gitDir == "" {
		return machine.CheckedOut{Stamp: stampFiles(filepath.Join(dir, ".git"))}, err
	}
	c := machine.CheckedOut{Stamp: stampFiles(filepath.Join(src.gitDir, "HEAD"))} // taken before reading
	if c.Branch, err = s.ask(ctx, src, "symbolic-ref", "--quiet", "--short", "HEAD"); c.Branch == "" && err == nil {
		c.Commit, err = s.ask(ctx, src, "rev-parse", "--short", "--verify", "--quiet", "HEAD")
	}
	return c, err
}

func stampFiles(files ...string) machine.Stamp {
	s := machine.Stamp{}
	for _, file := range files {
		s[file] = stampOf(file)
	}
	return s
}

// IsCurrent reports whether none of a stamp's files has changed; it is fast.
func (s *Service) IsCurrent(_ context.Context, stamp machine.Stamp) bool {
	for file, was := range stamp {
		if stampOf(file) != was {
			return false
		}
	}
	return true
}
