package changes

import (
	"github.com/ahphub/ahphub/hub/ahp"
)

// Buckets of change records.
const (
	bucketChanges     = "changes"    // key: session URI, value: ledgerRecord
	bucketCheckpoints = "checkpoint" // key: session URI # turn id, value: turnRecord
)

// ledger holds one session's change data. Each piece has its own lock, which is taken below the
// hub's, never together with another piece's, and never held during a call that may block.
type ledger struct {
	session ahp.URI

	record   record   // marks and the first checkpoint, durable
	turns    turns    // the checkpoints of turns, durable
	undo     undoLog  // how to undo operations, durable
	schedule schedule // followed changesets, and when to look
	watcher  watcher  // the directories, and whether the system reports writes
	bases    bases    // commits that changesets are compared with
}

func newLedger(keep keeper, session ahp.URI) *ledger {
	return &ledger{
		session:  session,
		record:   record{keep: keep, session: session},
		turns:    turns{keep: keep, session: session, read: map[string]*turnRecord{}},
		undo:     undoLog{keep: keep, session: session},
		schedule: schedule{open: map[ahp.URI]bool{}, shown: map[ahp.URI]*shown{}},
		watcher: watcher{moved: make(chan struct{}, 1), failing: make(chan struct{}, 1),
			back: make(chan struct{}, 1)},
	}
}

// ledger returns the ledger of a session, and creates it on first use.
func (p *Part) ledger(session ahp.URI) *ledger {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.ledgers[session]
	if l == nil {
		l = newLedger(p.keep, session)
		p.ledgers[session] = l
	}
	return l
}
