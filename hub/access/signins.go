package access

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Issued identifies a sign-in token by its hash.
type Issued struct {
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

// Pending returns the tokens that were issued here and not imported yet.
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

// Drop deletes a token that was imported.
func (s SignIn) Drop(t Issued) error {
	err := os.Remove(filepath.Join(s.Dir, t.Hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func isTokenHash(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 32
}

const signInBucket = "sign-in"

// SignIns redeems tokens that sign the owner in. An imported token is a document, so it works only
// once, whichever node leads. Used tokens are kept until they expire.
type SignIns struct {
	store Store
	own   SignIn
	now   func() time.Time

	mu  sync.Mutex // held during writes: each token works once
	all map[string]signInDoc
}

// signInDoc is a stored token; its key is the hash.
type signInDoc struct {
	Issued
	Used bool `json:"used,omitempty"`
}

// OpenSignIns reads the stored tokens. Tokens issued by own are imported from it.
func OpenSignIns(ctx context.Context, store Store, own SignIn) (*SignIns, error) {
	s := &SignIns{store: store, own: own, now: own.now, all: map[string]signInDoc{}}
	return s, store.Each(ctx, signInBucket, s.apply)
}

// apply updates s.all from a document; mu is held, or s is not shared yet.
func (s *SignIns) apply(key string, value []byte) error {
	put := func(doc signInDoc) { s.all[doc.Hash] = doc }
	drop := func(key string) { delete(s.all, key) }
	return applyDoc("the sign-in token", put, drop)(key, value)
}

// Import stores tokens that any node issued. Known tokens stay unchanged: they may be used.
func (s *SignIns) Import(ctx context.Context, list []Issued) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list {
		if err := s.importOne(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// ImportOwn imports the tokens issued on this node.
func (s *SignIns) ImportOwn(ctx context.Context) error {
	list, err := s.own.Pending()
	if err != nil || len(list) == 0 {
		return err
	}
	if err := s.Import(ctx, list); err != nil {
		return err
	}
	for _, t := range list {
		err = errors.Join(err, s.own.Drop(t))
	}
	return err
}

// Use redeems a token. For a valid token, it returns nil once the use is durable; otherwise
// ErrWrongToken.
func (s *SignIns) Use(ctx context.Context, token string) error {
	hash := hashToken(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Stat(filepath.Join(s.own.Dir, hash)); err == nil {
		t := Issued{hash, info.ModTime()}
		if err := s.importOne(ctx, t); err != nil {
			return err
		}
		if err := s.own.Drop(t); err != nil {
			return err
		}
	}
	doc, known := s.all[hash]
	if !known || doc.Used || s.isExpired(doc) {
		return ErrWrongToken
	}
	doc.Used = true
	return keep(ctx, s.store, signInBucket, hash, doc, s.apply)
}

// importOne imports one token; mu is held.
func (s *SignIns) importOne(ctx context.Context, t Issued) error {
	if !isTokenHash(t.Hash) {
		return ErrWrongToken
	}
	if _, known := s.all[t.Hash]; known {
		return nil
	}
	if now := s.now(); t.At.After(now) {
		t.At = now
	}
	if err := s.makeRoom(ctx); err != nil {
		return err
	}
	return keep(ctx, s.store, signInBucket, t.Hash, signInDoc{Issued: t}, s.apply)
}

// makeRoom deletes expired tokens and, if there are too many, the oldest unused one; mu is held.
func (s *SignIns) makeRoom(ctx context.Context) error {
	var unused []signInDoc
	for _, doc := range slices.Collect(maps.Values(s.all)) {
		switch {
		case s.isExpired(doc):
			if err := remove(ctx, s.store, signInBucket, doc.Hash, s.apply); err != nil {
				return err
			}
		case !doc.Used:
			unused = append(unused, doc)
		}
	}
	if len(unused) < maxSignIns {
		return nil
	}
	oldest := slices.MinFunc(unused, func(a, b signInDoc) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Hash, b.Hash)
	})
	return remove(ctx, s.store, signInBucket, oldest.Hash, s.apply)
}

func (s *SignIns) isExpired(doc signInDoc) bool { return s.now().Sub(doc.At) > signInLife }
