// Package kept stores versions of machines' files in the hub's documents, so that changes can be reviewed while a
// machine is offline.
package kept

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/ahphub/ahphub/hub/machine"
)

// Bounds of stored versions.
const (
	MostVersion  = 1 << 20  // bytes of a version
	MostBytes    = 64 << 20 // per session, compressed
	MostVersions = 4000     // per session
)

// bucket holds each version under its session and object id, and the list of a session's versions under the session.
const bucket = "kept"

// Documents stores versions.
type Documents interface {
	Get(ctx context.Context, bucket, key string) ([]byte, bool, error)
	// PutAll writes documents of a bucket in one step; nil deletes one.
	PutAll(ctx context.Context, bucket string, values map[string][]byte) error
}

// Store stores the newest versions of each session.
type Store struct {
	docs   Documents
	encode *zstd.Encoder
	decode *zstd.Decoder

	mu      sync.Mutex // held while a list is changed
	dropped map[string]bool
}

// New returns a store in docs.
func New(docs Documents) (*Store, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MostVersion))
	if err != nil {
		return nil, err
	}
	return &Store{docs: docs, encode: enc, decode: dec, dropped: map[string]bool{}}, nil
}

// version is an entry of a session's list, which is ordered by last use, newest at the end.
type version struct {
	OID  string `json:"oid"`
	Size int    `json:"size"` // bytes, compressed
}

func key(session, oid string) string { return session + " " + oid }

// Get returns a version; ok is false when it is not stored.
func (s *Store) Get(ctx context.Context, session, oid string) (data []byte, ok bool, err error) {
	packed, ok, err := s.docs.Get(ctx, bucket, key(session, oid))
	if err != nil || !ok {
		return nil, false, err
	}
	data, err = s.decode.DecodeAll(packed, nil)
	return data, err == nil, err
}

func (s *Store) list(ctx context.Context, session string) (list []version, err error) {
	raw, ok, err := s.docs.Get(ctx, bucket, session)
	if err == nil && ok {
		err = json.Unmarshal(raw, &list)
	}
	return list, err
}

// Lacking returns the versions of changed files, on both sides, that should be stored but are not.
func (s *Store) Lacking(ctx context.Context, session string, files []machine.ChangedFile) ([]Wanted, error) {
	list, err := s.list(ctx, session)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		seen[v.OID] = true
	}
	var out []Wanted
	for _, f := range files {
		if f.OldMode == machine.ModeSubmodule || f.NewMode == machine.ModeSubmodule {
			continue // one side is a commit
		}
		for _, w := range []Wanted{{f.OldOID, f.OldSize}, {f.NewOID, f.NewSize}} {
			if w.OID != "" && w.Size <= MostVersion && !seen[w.OID] && len(out) < MostVersions {
				seen[w.OID] = true
				out = append(out, w)
			}
		}
	}
	return out, nil
}

// Wanted is a version that should be stored.
type Wanted struct {
	OID  string
	Size int64 // bytes, as reported by the machine
}

// Put stores versions of a session by their object ids, and drops the oldest ones when there are too many.
func (s *Store) Put(ctx context.Context, session string, contents map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped[session] || len(contents) == 0 {
		return nil
	}
	list, err := s.list(ctx, session)
	if err != nil {
		return err
	}
	values := make(map[string][]byte, len(contents)+1)
	for oid, data := range contents {
		if len(data) > MostVersion {
			continue
		}
		packed := s.encode.EncodeAll(data, nil)
		list = slices.DeleteFunc(list, func(v version) bool { return v.OID == oid })
		list = append(list, version{oid, len(packed)})
		values[key(session, oid)] = packed
	}
	total := 0
	for _, v := range list {
		total += v.Size
	}
	for len(list) > MostVersions || total > MostBytes {
		values[key(session, list[0].OID)] = nil
		total -= list[0].Size
		list = list[1:]
	}
	if values[session], err = json.Marshal(list); err != nil {
		return fmt.Errorf("the list of kept versions: %w", err)
	}
	return s.docs.PutAll(ctx, bucket, values)
}

// Drop deletes all versions of a session. Later versions of it are not stored.
func (s *Store) Drop(ctx context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped[session] = true
	list, err := s.list(ctx, session)
	if err != nil || list == nil {
		return err
	}
	values := map[string][]byte{session: nil}
	for _, v := range list {
		values[key(session, v.OID)] = nil
	}
	return s.docs.PutAll(ctx, bucket, values)
}
