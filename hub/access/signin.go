package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SignIn gives out one-time tokens that sign the owner in. A token is a file named by its
// hash in a directory only the owner of the data reads: whoever may write there could read
// everything else anyway, so `ahphub link` needs no server to talk to, and removing the
// file is what makes a token work once.
type SignIn struct {
	Dir string
	Now func() time.Time // default time.Now
}

const (
	signInLife = 24 * time.Hour
	signInMost = 100 // tokens given out and not used
)

// New gives out a token; it works once within a day.
func (s SignIn) New() (string, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	if err := s.sweep(); err != nil {
		return "", err
	}
	token := newToken(16)
	path := filepath.Join(s.Dir, hash(token))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	now := s.now()
	return token, os.Chtimes(path, now, now)
}

// Use takes a token; nil says it was good, and from now on it is not.
func (s SignIn) Use(token string) error {
	path := filepath.Join(s.Dir, hash(token))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrWrongToken
	}
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) { // somebody else was faster
		return ErrWrongToken
	}
	if err != nil {
		return err
	}
	if s.now().Sub(info.ModTime()) > signInLife {
		return ErrWrongToken
	}
	return nil
}

// sweep forgets tokens that are too old, and the oldest when there are too many.
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
			continue // used meanwhile
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
	if left >= signInMost {
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
