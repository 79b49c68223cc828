package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// ledgerRecord is the durable record of a session.
type ledgerRecord struct {
	First   *machine.Checkpoint   `json:"first,omitempty"`   // before the first turn
	Touched []string              `json:"touched,omitempty"` // files changed by turns, sorted
	Marks   map[string]mark       `json:"marks,omitempty"`   // by channel and file
	Hunks   map[string][]HunkMark `json:"hunks,omitempty"`   // likewise; the slices are immutable
}

// mark records the review of a version of a file.
type mark struct {
	Hash string        `json:"hash"`
	By   core.Identity `json:"by"`
	At   time.Time     `json:"at"`
}

func markKey(channel ahp.URI, file string) string { return channel + " " + file }

const mostTouched = 20_000

// record caches a session's durable record. Its lock is taken below the hub's, and never held
// during a call that may block.
type record struct {
	keep    keeper
	session ahp.URI

	mu      sync.Mutex
	loaded  bool
	rec     ledgerRecord
	version int // of rec
	saved   int // newest recorded version
}

// load reads the session's record once.
func (r *record) load(ctx context.Context) error {
	if r.isLoaded() {
		return nil
	}
	var rec ledgerRecord
	if err := r.keep.readRecord(ctx, bucketChanges, r.session, &rec); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		r.rec, r.loaded = rec, true
	}
	return nil
}

// isLoaded reports whether the session's record was read.
func (r *record) isLoaded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded
}

// change edits the session's record and stores it. An older version never overwrites a newer one:
// of two concurrent changes, the later one contains both.
func (r *record) change(ctx context.Context, edit func(*ledgerRecord)) {
	r.mu.Lock()
	edit(&r.rec)
	r.version++
	version, rec := r.version, r.rec.clone()
	r.mu.Unlock()
	r.keep.writeRecord(ctx, bucketChanges, r.session, rec, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		newer := version > r.saved
		r.saved = max(r.saved, version)
		return newer
	})
}

// changeIn is change within a step. The record becomes durable with the step, so that after a crash
// no mark exists without its action. The hub's lock is held.
func (r *record) changeIn(tx *hub.Tx, edit func(*ledgerRecord)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	edit(&r.rec)
	r.version++
	r.saved = r.version
	rec := r.rec.clone()
	size := 64*len(rec.Touched) + 256*(len(rec.Marks)+len(rec.Hunks))
	tx.RecordLater(bucketChanges, r.session, size, func() ([]byte, error) { return json.Marshal(rec) })
}

// read calls f with the record, which f must not change.
func (r *record) read(f func(*ledgerRecord)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.rec)
}

// first returns the checkpoint before the first turn, or nil.
func (r *record) first() *machine.Checkpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec.First
}

// setFirst stores the first checkpoint of each new directory.
func (r *record) setFirst(ctx context.Context, c machine.Checkpoint) {
	first, added := withFirst(r.first(), c)
	if added {
		r.change(ctx, func(rec *ledgerRecord) { rec.First = first })
	}
}

// hasTouched reports whether a turn changed a file.
func (r *record) hasTouched(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := slices.BinarySearch(r.rec.Touched, path)
	return ok
}

// withFirst adds the trees of directories that are not in had.
func withFirst(had *machine.Checkpoint, c machine.Checkpoint) (first *machine.Checkpoint, added bool) {
	first = &machine.Checkpoint{}
	if had != nil {
		first.Trees = slices.Clone(had.Trees)
	}
	for _, t := range c.Trees {
		if !slices.ContainsFunc(first.Trees, func(o machine.Tree) bool { return o.Dir == t.Dir && o.Top == t.Top }) {
			first.Trees, added = append(first.Trees, t), true
		}
	}
	return first, added || had == nil
}

// touch records files that a turn changed. All others changed outside of turns.
func (r *ledgerRecord) touch(paths ...string) {
	all := slices.Concat(r.Touched, paths)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) <= mostTouched {
		r.Touched = all
	}
}

// namesOf returns the paths of changed files, including old paths of renamed ones.
func namesOf(files []machine.ChangedFile) (paths []string) {
	for _, f := range files {
		paths = append(paths, f.Name(), f.OldName())
	}
	return paths
}

// keeper reads and writes the part's records.
type keeper struct{ core *core.Core }

// readRecord reads a record into v, and leaves v unchanged if there is none.
func (k keeper) readRecord(ctx context.Context, bucket, key string, v any) error {
	if k.core.Store == nil {
		return nil
	}
	raw, ok, err := k.core.Store.Get(ctx, bucket, key)
	if err != nil || !ok {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("read %s %s: %w", bucket, key, err)
	}
	return nil
}

// writeRecord records v in its own step, if wanted is nil or returns true in that step.
func (k keeper) writeRecord(ctx context.Context, bucket, key string, v any, wanted func() bool) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = k.core.Do(ctx, func(tx *hub.Tx) {
			if wanted == nil || wanted() {
				tx.Record(bucket, key, raw)
			}
		})
	}
	if err != nil {
		k.core.Log.Error("what changed could not be kept", "bucket", bucket, "key", key, "err", err)
	}
}
