package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Buckets of what is kept about changes.
const (
	bucketChanges     = "changes"    // key: session URI, value: ledgerRecord
	bucketCheckpoints = "checkpoint" // key: session URI # turn id, value: turnRecord
)

// ledger is what the host remembers of one session's changes. Its lock is taken inside of the hub's, never the other
// way round, and never held over a call that may wait.
type ledger struct {
	session ahp.URI

	mu       sync.Mutex
	loaded   bool
	gone     bool // the session was disposed
	rec      ledgerRecord
	turns    map[string]*turnRecord
	away     map[string]bool  // turns that moved to another session, whose records may still be in the store
	open     map[ahp.URI]bool // channels kept up to date
	shown    map[ahp.URI]*shown
	bases    map[string]changeset.Checkpoint
	dirs     []string      // those that are looked at
	moved    chan struct{} // holds one: they are others now
	failing  chan struct{} // holds one: a look failed
	failure  error         // of the last look
	next     wanted        // what the next look is about
	dirty    bool          // look again
	busy     bool          // a goroutine looks
	watching bool
	took     time.Duration      // the last look at everything
	found    bool               // a look found something different
	told     bool               // the system tells of writes
	whole    int                // looks at everything
	narrow   int                // looks at what was written
	staging  *changeset.Staging // nil until it is read, and after commits or branches moved
	undo     []undoRecord
	undoRead bool
	head     head
	version  int // of rec
	saved    int // newest version that is kept
}

// ledgerRecord is the durable part of a session as a whole.
type ledgerRecord struct {
	First   *changeset.Checkpoint `json:"first,omitempty"`   // before the first turn
	Touched []string              `json:"touched,omitempty"` // files turns changed, sorted
	Marks   map[string]mark       `json:"marks,omitempty"`   // by channel and file
	Hunks   map[string][]HunkMark `json:"hunks,omitempty"`   // likewise; the slices never change
}

// mark records the review of a version of a file.
type mark struct {
	Hash string        `json:"hash"`
	By   core.Identity `json:"by"`
	At   time.Time     `json:"at"`
}

func markKey(channel ahp.URI, file string) string { return channel + " " + file }

// turnRecord is one turn between its checkpoints. To is nil while it runs, and after a crash.
type turnRecord struct {
	From    changeset.Checkpoint  `json:"from"`
	To      *changeset.Checkpoint `json:"to,omitempty"`
	Overlap bool                  `json:"overlap,omitempty"` // another turn ran in the same directories meanwhile
	Changes *ahp.ChangesSummary   `json:"changes,omitempty"`

	dirs []string
}

const mostTouched = 20_000

func (p *Part) ledger(session ahp.URI) *ledger {
	c := &p.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.ledgers[session]; l != nil {
		return l
	}
	if c.ledgers == nil {
		c.ledgers = map[ahp.URI]*ledger{}
	}
	l := &ledger{session: session, turns: map[string]*turnRecord{}, open: map[ahp.URI]bool{},
		shown: map[ahp.URI]*shown{}, bases: map[string]changeset.Checkpoint{}, moved: make(chan struct{}, 1), failing: make(chan struct{}, 1)}
	c.ledgers[session] = l
	return l
}

// load reads the session's record once.
func (l *ledger) load(ctx context.Context, p *Part) error {
	l.mu.Lock()
	loaded := l.loaded
	l.mu.Unlock()
	if loaded {
		return nil
	}
	var rec ledgerRecord
	if err := p.readRecord(ctx, bucketChanges, l.session, &rec); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		l.rec, l.loaded = rec, true
	}
	return nil
}

// readRecord leaves v alone when there is none.
func (p *Part) readRecord(ctx context.Context, bucket, key string, v any) error {
	if p.core.Store == nil {
		return nil
	}
	raw, ok, err := p.core.Store.Get(ctx, bucket, key)
	if err != nil || !ok {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("read %s %s: %w", bucket, key, err)
	}
	return nil
}

// turn returns a turn's record, nil when there is none. Records never change: newer ones take their place.
func (l *ledger) turn(ctx context.Context, p *Part, id string) (*turnRecord, error) {
	l.mu.Lock()
	r, away := l.turns[id], l.away[id]
	l.mu.Unlock()
	if r != nil || away {
		return r, nil
	}
	var read *turnRecord
	if err := p.readRecord(ctx, bucketCheckpoints, l.session+"#"+id, &read); err != nil || read == nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.turns[id]; r != nil {
		return r, nil
	}
	l.turns[id] = read
	return read, nil
}

// putTurn keeps a turn's record, in memory and durably.
func (l *ledger) putTurn(ctx context.Context, p *Part, id string, r turnRecord) {
	l.mu.Lock()
	l.turns[id] = &r
	l.mu.Unlock()
	p.keepRecord(ctx, bucketCheckpoints, l.session+"#"+id, r, nil)
}

// change edits the session's record and keeps it. What is kept never goes back: of two changes at a time the later one
// has both.
func (l *ledger) change(ctx context.Context, p *Part, edit func(*ledgerRecord)) {
	l.mu.Lock()
	edit(&l.rec)
	l.version++
	version, rec := l.version, l.rec.cloned()
	l.mu.Unlock()
	p.keepRecord(ctx, bucketChanges, l.session, rec, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		newer := version > l.saved
		l.saved = max(l.saved, version)
		return newer
	})
}

// changeIn is change within a step, whose other changes the record is durable with: after a crash there is no mark
// without its action. The hub's lock is held.
func (l *ledger) changeIn(tx *hub.Tx, edit func(*ledgerRecord)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit(&l.rec)
	l.version++
	l.saved = l.version
	rec := l.rec.cloned()
	size := 64*len(rec.Touched) + 256*(len(rec.Marks)+len(rec.Hunks))
	tx.RecordLater(bucketChanges, l.session, size, func() ([]byte, error) { return json.Marshal(rec) })
}

// isLoaded reports whether the session's record was read.
func (l *ledger) isLoaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded
}

// keepRecord writes v down, if that is still wanted when its turn comes.
func (p *Part) keepRecord(ctx context.Context, bucket, key string, v any, wanted func() bool) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = p.core.Do(ctx, func(tx *hub.Tx) {
			if wanted == nil || wanted() {
				tx.Record(bucket, key, raw)
			}
		})
	}
	if err != nil {
		p.core.Log.Error("what changed could not be kept", "bucket", bucket, "key", key, "err", err)
	}
}

// first returns the checkpoint the session is compared with, and takes it when there is none yet.
func (l *ledger) first(ctx context.Context, p *Part, dirs []string) (changeset.Checkpoint, error) {
	if err := l.load(ctx, p); err != nil {
		return changeset.Checkpoint{}, err
	}
	l.mu.Lock()
	had := l.rec.First
	l.mu.Unlock()
	if had != nil {
		return *had, nil
	}
	now, err := p.svc.Checkpoint(ctx, l.session, dirs)
	if err != nil {
		return now, err
	}
	l.setFirst(ctx, p, now)
	p.keepCheckpoint(l.session, now)
	return now, nil
}

// setFirst keeps the first checkpoint of each directory; one that is added later begins there.
func (l *ledger) setFirst(ctx context.Context, p *Part, c changeset.Checkpoint) {
	l.mu.Lock()
	first, added := withFirst(l.rec.First, c)
	l.mu.Unlock()
	if added {
		l.change(ctx, p, func(r *ledgerRecord) { r.First = first })
	}
}

// withFirst adds the trees of directories that are not known yet.
func withFirst(had *changeset.Checkpoint, c changeset.Checkpoint) (first *changeset.Checkpoint, added bool) {
	first = &changeset.Checkpoint{}
	if had != nil {
		first.Trees = slices.Clone(had.Trees)
	}
	for _, t := range c.Trees {
		if !slices.ContainsFunc(first.Trees, func(o changeset.Tree) bool { return o.Dir == t.Dir && o.Top == t.Top }) {
			first.Trees, added = append(first.Trees, t), true
		}
	}
	return first, added || had == nil
}

// touch notes files a turn changed, so that others can be told to have changed outside of turns.
func (r *ledgerRecord) touch(files []changeset.File) {
	all := slices.Clone(r.Touched)
	for _, f := range files {
		all = append(all, f.Name(), f.OldName())
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) <= mostTouched {
		r.Touched = all
	}
}

// hasTouched reports whether a turn changed a file, or an open changeset shows that it changed meanwhile.
func (l *ledger) hasTouched(p *Part, path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := slices.BinarySearch(l.rec.Touched, path); ok {
		return true
	}
	for uri, s := range l.shown {
		if _, scope, ok := p.parseURI(uri); !ok || scope.kind == kindUncommitted || scope.kind == kindBranch {
			continue
		}
		if slices.ContainsFunc(s.files, func(f changeset.File) bool { return f.Name() == path }) {
			return true
		}
	}
	return false
}

// uris lists the open channels; the lock is held.
func (l *ledger) uris() []ahp.URI { return slices.Sorted(maps.Keys(l.open)) }
