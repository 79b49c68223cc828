package resource

import (
	"os"

	"github.com/ahphub/ahphub/hub/ahp"
)

// What a spot stands for is shown to the guard twice: by its path before anything is done there, and once it is open by
// what was opened, which no change of a link or name meanwhile replaces.

func (s *spot) checkPath() error { return s.files.Guard.CheckPath(s.path(), s.files.Worktrees...) }

func (s *spot) checkFile(f *os.File) error {
	return s.files.Guard.CheckFile(f, s.files.Worktrees...)
}

// checkName checks the place of a name that is made, replaced or taken away.
func (s *spot) checkName() error { return s.files.Guard.CheckName(s.path(), s.files.Worktrees...) }

// checkTaken refuses to take away or copy a directory with what no one may have.
func (s *spot) checkTaken() error {
	if err := s.checkName(); err != nil {
		return err
	}
	if info, err := s.root.Lstat(s.rel); err != nil || !info.IsDir() {
		return nil // the caller sees that it is gone
	}
	return s.files.Guard.CheckWhole(s.path())
}

// checkRoot refuses to open a directory that lies where nothing is open.
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
