package access

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SignIn issues one-time tokens that sign the owner in. A token is a file named by its hash, in a
// directory only readable by the owner of the data. Anyone who can write there could also read
// everything else, so `ahphub link` needs no running server. SignIns imports the files.
type SignIn struct {
	Dir string
	Now func() time.Time // default time.Now
}

const (
	signInLife = 24 * time.Hour
	maxSignIns = 100 // issued and unused tokens
)

// New issues a token that works once, within a day.
func (s SignIn) New() (string, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	if err := s.sweep(); err != nil {
		return "", err
	}
	token := newToken(16)
	path := filepath.Join(s.Dir, hashToken(token))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	now := s.now()
	return token, os.Chtimes(path, now, now)
}

// sweep deletes expired tokens, and the oldest when there are too many.
func (s SignIn) sweep() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	var oldest fs.FileInfo
	left := 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // used since the directory was read
		}
		if s.now().Sub(info.ModTime()) > signInLife {
			os.Remove(filepath.Join(s.Dir, e.Name()))
			continue
		}
		left++
		if oldest == nil || info.ModTime().Before(oldest.ModTime()) {
			oldest = info
		}
	}
	if left >= maxSignIns {
		return os.Remove(filepath.Join(s.Dir, oldest.Name()))
	}
	return nil
}

func (s SignIn) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
