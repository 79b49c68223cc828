package access

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Issued is a sign-in token that was not used yet, by its hash, for another node of a cluster.
type Issued struct {
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

// Pending returns the tokens that were not used yet.
func (s SignIn) Pending() (list []Issued, err error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isTokenHash(e.Name()) {
			list = append(list, Issued{e.Name(), info.ModTime()})
		}
	}
	return list, err
}

// Take makes a token that another node issued work here.
func (s SignIn) Take(t Issued) error {
	if !isTokenHash(t.Hash) {
		return ErrWrongToken
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if err := s.sweep(); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, t.Hash)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	if t.At.After(s.now()) {
		t.At = s.now()
	}
	return os.Chtimes(path, t.At, t.At)
}

// Drop makes a token work no more.
func (s SignIn) Drop(t Issued) error { return os.Remove(filepath.Join(s.Dir, t.Hash)) }

func isTokenHash(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 32
}
