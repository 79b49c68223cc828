package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	bucketEdits = "edits" // key: session URI # turn id, value: turnEdits
	mostEdits   = 50_000  // files of all turns, beyond which the oldest turns are dropped
)

// edit is a file's states before and after a turn, as returned by fileState.
type edit struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// turnEdits holds the edits of one turn. It is immutable.
type turnEdits struct {
	By    []ahp.URI       `json:"by"` // the turn's session, and those with concurrent turns in the same directories
	At    time.Time       `json:"at"`
	Files map[string]edit `json:"files"` // by path
}

// edits records which turns changed which files, so that sessions in one directory do not show each
// other's changes as their own.
type edits struct {
	keep keeper

	mu     sync.Mutex
	loaded bool
	turns  map[string]*turnEdits // by turnKey
	byPath map[string][]*turnEdits
	files  int // of all turns
}

// load reads the edits of all sessions once.
func (e *edits) load(ctx context.Context) error {
	e.mu.Lock()
	loaded := e.loaded
	e.mu.Unlock()
	if loaded || e.keep.core.Store == nil {
		return nil
	}
	records, err := e.keep.core.Store.Records(ctx, bucketEdits)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range records {
		t := &turnEdits{}
		if err := json.Unmarshal(r.Value, t); err != nil {
			return fmt.Errorf("read %s %s: %w", bucketEdits, r.Key, err)
		}
		if !e.loaded && e.turns[r.Key] == nil {
			e.add(r.Key, t)
		}
	}
	e.loaded = true
	return nil
}

// add adds a turn's edits to the index. e.mu is held.
func (e *edits) add(key string, t *turnEdits) {
	e.remove(key)
	e.turns[key] = t
	e.files += len(t.Files)
	for path := range t.Files {
		e.byPath[path] = append(e.byPath[path], t)
	}
}

// remove removes a turn's edits from the index. e.mu is held.
func (e *edits) remove(key string) {
	t := e.turns[key]
	if t == nil {
		return
	}
	delete(e.turns, key)
	e.files -= len(t.Files)
	for path := range t.Files {
		left := slices.DeleteFunc(e.byPath[path], func(o *turnEdits) bool { return o == t })
		if e.byPath[path] = left; len(left) == 0 {
			delete(e.byPath, path)
		}
	}
}

// note records a turn's changed files. It skips turns with very many, which are checkouts, not
// edits.
func (e *edits) note(ctx context.Context, ref TurnRef, with []ahp.URI, files []machine.ChangedFile) {
	if len(files) == 0 || len(files) > mostChangedFiles {
		return
	}
	t := &turnEdits{By: append([]ahp.URI{ref.Session}, with...), At: e.keep.core.Now().UTC(), Files: map[string]edit{}}
	for _, f := range files {
		for path, step := range editsOf(f) {
			t.Files[path] = step
		}
	}
	if err := e.load(ctx); err != nil {
		e.keep.core.Log.Warn("what other turns edited could not be read", "session", ref.Session, "err", err)
	}
	key := turnKey(ref.Session, ref.Turn)
	e.mu.Lock()
	e.add(key, t)
	dropped := e.dropOldest(key)
	e.mu.Unlock()
	e.keep.writeRecord(ctx, bucketEdits, key, t, nil)
	e.discard(ctx, dropped)
}

// dropOldest removes the oldest turns from the index until it is within the limit, and returns
// their keys. It keeps the newest turn. e.mu is held.
func (e *edits) dropOldest(newest string) (dropped []string) {
	if e.files <= mostEdits {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(e.turns), func(a, b string) int { return e.turns[a].At.Compare(e.turns[b].At) })
	for _, key := range keys {
		if e.files <= mostEdits {
			break
		}
		if key != newest {
			e.remove(key)
			dropped = append(dropped, key)
		}
	}
	return dropped
}

// discard deletes the records of turns.
func (e *edits) discard(ctx context.Context, keys []string) {
	if len(keys) == 0 {
		return
	}
	err := e.keep.core.Do(ctx, func(tx *hub.Tx) {
		for _, key := range keys {
			tx.Record(bucketEdits, key, nil)
		}
	})
	if err != nil {
		e.keep.core.Log.Warn("records of old edits are left behind", "err", err)
	}
}

// forget drops the edits of a session's turns.
func (e *edits) forget(ctx context.Context, session ahp.URI) error {
	if err := e.load(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	var keys []string
	for key := range e.turns {
		if strings.HasPrefix(key, session+"#") {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		e.remove(key)
	}
	e.mu.Unlock()
	e.discard(ctx, keys)
	return nil
}

// pathsOf returns the files that turns of a session edited.
func (e *edits) pathsOf(ctx context.Context, session ahp.URI, turns map[string]*turnRecord) (paths []string, err error) {
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range turns {
		if t := e.turns[turnKey(session, id)]; t != nil {
			paths = slices.AppendSeq(paths, maps.Keys(t.Files))
		}
	}
	return paths, nil
}

// move gives the edits of turns to the session they moved to. Shared turns, which the old session
// keeps, count as edits of both.
func (e *edits) move(tx *hub.Tx, from, to ahp.URI, turns map[string]*turnRecord, shared map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range turns {
		old := e.turns[turnKey(from, id)]
		if old == nil {
			continue
		}
		now := &turnEdits{By: append(slices.Clone(old.By), to), At: old.At, Files: old.Files}
		if !shared[id] {
			now.By = slices.DeleteFunc(now.By, func(s ahp.URI) bool { return s == from })
		}
		raw, err := json.Marshal(now)
		if err != nil {
			continue // strings and a time always encode
		}
		e.remove(turnKey(from, id))
		e.add(turnKey(to, id), now)
		tx.Record(bucketEdits, turnKey(from, id), nil)
		tx.Record(bucketEdits, turnKey(to, id), raw)
	}
}

// explains reports whether only other sessions' turns led a file from its old state to its new one.
// If a person also edited the file, that step is missing.
func (e *edits) explains(session ahp.URI, f machine.ChangedFile) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path, whole := range editsOf(f) {
		if !e.leads(session, path, whole) {
			return false
		}
	}
	return true
}

// leads reports whether others' edits lead from one state of a path to another. e.mu is held.
func (e *edits) leads(session ahp.URI, path string, whole edit) bool {
	reached := map[string]bool{whole.From: true}
	next := []string{whole.From}
	for len(next) > 0 && !reached[whole.To] {
		at := next[0]
		next = next[1:]
		for _, t := range e.byPath[path] {
			if step := t.Files[path]; step.From == at && !reached[step.To] && !slices.Contains(t.By, session) {
				reached[step.To] = true
				next = append(next, step.To)
			}
		}
	}
	return reached[whole.To]
}

// editsOf returns a change's edit of each path: of both paths for a renamed file.
func editsOf(f machine.ChangedFile) map[string]edit {
	old, now := fileState(f.OldMode, f.OldOID, f.OldSize), fileState(f.NewMode, f.NewOID, f.NewSize)
	if f.OldPath == "" {
		return map[string]edit{f.Name(): {old, now}}
	}
	return map[string]edit{f.OldName(): {From: old}, f.Name(): {To: now}}
}

// fileState identifies a file's version; "" means no file. Content that is not stored is identified
// by its size.
func fileState(mode, oid string, size int64) string {
	if mode == "" {
		return ""
	}
	if oid == "" {
		return fmt.Sprintf("%s %d bytes", mode, size)
	}
	return mode + " " + oid
}
