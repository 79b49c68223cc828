package changes

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// turnRecord contains a turn's checkpoints. To is nil while the turn runs, and after a crash.
type turnRecord struct {
	From    machine.Checkpoint  `json:"from"`
	To      *machine.Checkpoint `json:"to,omitempty"`
	Overlap bool                `json:"overlap,omitempty"` // another turn ran at the same time in the same directories
	Changes *ahp.ChangesSummary `json:"changes,omitempty"`

	dirs []string
}

// turns holds the records of a session's turns. Records are immutable and are replaced by newer
// ones.
type turns struct {
	keep    keeper
	session ahp.URI

	mu   sync.Mutex
	read map[string]*turnRecord
	away map[string]bool // turns that moved to another session, whose records may still be in the store
}

// turnKey is the key of a turn's record.
func turnKey(session ahp.URI, turn string) string { return session + "#" + turn }

// get returns a turn's record, or nil.
func (t *turns) get(ctx context.Context, id string) (*turnRecord, error) {
	t.mu.Lock()
	r, away := t.read[id], t.away[id]
	t.mu.Unlock()
	if r != nil || away {
		return r, nil
	}
	var read *turnRecord
	if err := t.keep.readRecord(ctx, bucketCheckpoints, turnKey(t.session, id), &read); err != nil || read == nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.read[id]; r != nil {
		return r, nil
	}
	t.read[id] = read
	return read, nil
}

// put stores a turn's record, in memory and durably.
func (t *turns) put(ctx context.Context, id string, r turnRecord) {
	t.mu.Lock()
	t.read[id] = &r
	t.mu.Unlock()
	t.keep.writeRecord(ctx, bucketCheckpoints, turnKey(t.session, id), r, nil)
}

// take adds the record of a turn that moved here from another session.
func (t *turns) take(id string, r *turnRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read[id] = r
	delete(t.away, id)
}

// leave removes a turn that moved to another session.
func (t *turns) leave(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away == nil {
		t.away = map[string]bool{}
	}
	delete(t.read, id)
	t.away[id] = true
}

// runningTurns tracks the running turns of all sessions. The zero value is ready to use.
type runningTurns struct {
	mu      sync.Mutex
	running map[string]*runningTurn
}

// runningTurn is a running turn.
type runningTurn struct {
	session ahp.URI
	dirs    []string
	overlap bool             // another turn ran at the same time in the same directories
	with    map[ahp.URI]bool // the other sessions of such turns
}

// begin records a running turn and reports whether others run in the same directories. It marks
// those as overlapping too.
func (t *runningTurns) begin(ref TurnRef, r *turnRecord) (overlap bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[string]*runningTurn{}
	}
	mine := &runningTurn{session: ref.Session, dirs: r.dirs, with: map[ahp.URI]bool{}}
	for id, other := range t.running {
		if id == ref.Turn || !isNested(other.dirs, r.dirs) {
			continue
		}
		other.overlap, mine.overlap = true, true
		if other.session != ref.Session {
			other.with[ref.Session], mine.with[other.session] = true, true
		}
	}
	t.running[ref.Turn] = mine
	return mine.overlap
}

// sessionsWith returns the other sessions whose turns overlapped with a running turn.
func (t *runningTurns) sessionsWith(turn string) []ahp.URI {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.running[turn]; r != nil {
		return slices.Sorted(maps.Keys(r.with))
	}
	return nil
}

// runsOnlyElsewhere reports whether turns of other sessions run in dirs, but none of this session.
func (t *runningTurns) runsOnlyElsewhere(session ahp.URI, dirs []string) (others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.running {
		if !isNested(r.dirs, dirs) {
			continue
		}
		if r.session == session {
			return false
		}
		others = true
	}
	return others
}

// end removes a turn and reports whether another turn overlapped.
func (t *runningTurns) end(turn string) (overlap bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.running[turn]
	delete(t.running, turn)
	return r != nil && r.overlap
}

// has reports whether a turn is running.
func (t *runningTurns) has(turn string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[turn] != nil
}

// runsIn reports whether a turn of any session runs in, below or above one of the directories.
func (t *runningTurns) runsIn(dirs []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.running {
		if isNested(r.dirs, dirs) {
			return true
		}
	}
	return false
}

// isNested reports whether a directory of one list equals, contains or is inside one of the other.
func isNested(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/") {
				return true
			}
		}
	}
	return false
}
