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

// Issued is a sign-in token, by its hash.
type Issued struct {
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

// Pending returns the tokens that were issued here and not taken over.
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

// Drop forgets a token that was taken over.
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

// SignIns redeems tokens that sign the owner in. A token that was taken over is a document, so that it works once on
// whichever node of a cluster leads; used ones are kept until they would have expired.
type SignIns struct {
	store Store
	own   SignIn
	now   func() time.Time

	mu  sync.Mutex // held while a token is written: each works once
	all map[string]signInDoc
}

// signInDoc is a token as it is stored, by its hash.
type signInDoc struct {
	Issued
	Used bool `json:"used,omitempty"`
}

// OpenSignIns reads the tokens that are stored. Those that own issues are taken over from it.
func OpenSignIns(ctx context.Context, store Store, own SignIn) (*SignIns, error) {
	s := &SignIns{store: store, own: own, now: own.now, all: map[string]signInDoc{}}
	return s, store.Each(ctx, signInBucket, s.apply)
}

// apply takes the record of a token in; mu is held, or nobody else has it yet.
func (s *SignIns) apply(key string, value []byte) error {
	return applyDoc("the sign-in token", func(doc signInDoc) { s.all[doc.Hash] = doc }, func(key string) { delete(s.all, key) })(key, value)
}

// Take takes tokens over that were issued on any node. One that is known stays as it is: it may have been used.
func (s *SignIns) Take(ctx context.Context, list []Issued) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list {
		if err := s.take(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// TakeOwn takes over what was issued on this node.
func (s *SignIns) TakeOwn(ctx context.Context) error {
	list, err := s.own.Pending()
	if err != nil || len(list) == 0 {
		return err
	}
	if err := s.Take(ctx, list); err != nil {
		return err
	}
	for _, t := range list {
		err = errors.Join(err, s.own.Drop(t))
	}
	return err
}

// Use redeems a token. It returns nil for a valid one once it is durable that it is used, and ErrWrongToken for others.
func (s *SignIns) Use(ctx context.Context, token string) error {
	hash := hashToken(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Stat(filepath.Join(s.own.Dir, hash)); err == nil {
		t := Issued{hash, info.ModTime()}
		if err := s.take(ctx, t); err != nil {
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

// take takes one token over; mu is held.
func (s *SignIns) take(ctx context.Context, t Issued) error {
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

// makeRoom deletes expired tokens, and the oldest unused one when there are too many; mu is held.
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
