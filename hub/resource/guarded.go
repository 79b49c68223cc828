package resource

import (
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
)

// The guard checks a spot twice: its path before any operation, and then the opened file itself, which later changes of
// links or names cannot replace.

func (s *spot) checkPath() error { return s.files.Guard.CheckPath(s.path(), s.files.Worktrees...) }

func (s *spot) checkFile(f *os.File) error {
	return s.files.Guard.CheckFile(f, s.files.Worktrees...)
}

// checkName checks a name that is created, replaced or removed.
func (s *spot) checkName() error { return s.files.Guard.CheckName(s.path(), s.files.Worktrees...) }

// checkTaken refuses to remove or copy a directory that contains closed paths.
func (s *spot) checkTaken() error {
	if err := s.checkName(); err != nil {
		return err
	}
	if info, err := s.root.Lstat(s.rel); err != nil || !info.IsDir() {
		return nil // the caller notices that it is missing
	}
	return s.files.Guard.CheckWhole(s.path())
}

// checkRoot refuses to open a closed directory.
func (s *spot) checkRoot() error {
	f, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return s.checkFile(f)
}

func closed(uri ahp.URI, err error) error {
	return ahp.Errorf(ahp.CodePermissionDenied, "%.200s cannot be opened: %v", uri, err)
}
