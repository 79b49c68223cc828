package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// leading appends the batches of one term.
type leading struct {
	raft    *raft.Raft
	term    uint64
	version uint16
	lease   time.Duration
	end     context.CancelFunc
	down    <-chan struct{} // closed once raft has shut down

	confirmed atomic.Pointer[time.Time] // from then on, no other node can lead for the lease

	mu   sync.Mutex // held during Apply, so entries reach raft in the order of their hashes
	last Place
	over bool
}

func (l *leading) append(batch []byte) Ack {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.raft.CurrentTerm() != l.term {
		return newFailedAck(ErrDeposed)
	}
	b, place := encode(l.last, l.term, l.version, batch)
	l.last = place
	return &ack{future: l.raft.Apply(b, 0), leading: l}
}

// confirm asks a quorum unless it answered within the lease. Nodes that heard from a leader elect
// no other one for twice that time.
func (l *leading) confirm() error {
	began := time.Now()
	if at := l.confirmed.Load(); at == nil || !isWithin(began.Sub(*at), began.Round(0).Sub(at.Round(0)), l.lease) {
		if err := await(l.raft.VerifyLeader(), l.down); err != nil {
			return fmt.Errorf("%w (%w)", ErrDeposed, err)
		}
		l.confirmed.Store(&began)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.raft.CurrentTerm() != l.term {
		return ErrDeposed
	}
	return nil
}

// isWithin reports whether less than the lease has passed by both clocks: the monotonic one stands
// still while a computer or virtual machine sleeps, and the wall clock may be set.
func isWithin(monotonic, wall, lease time.Duration) bool {
	return monotonic < lease && wall >= 0 && wall < lease
}

func (l *leading) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// ack is the Ack of one entry.
type ack struct {
	future  raft.ApplyFuture
	leading *leading
	once    sync.Once
	err     error
}

// Wait implements Ack.
func (a *ack) Wait() error {
	a.once.Do(func() {
		err := await(a.future, a.leading.down)
		if err == nil {
			err, _ = a.future.Response().(error)
		}
		if err != nil { // later entries would continue one that may not exist
			a.leading.stop()
			a.leading.end()
			a.err = fmt.Errorf("%w (%w)", ErrDeposed, err)
		}
	})
	return a.err
}
