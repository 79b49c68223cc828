package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrDeposed is returned for an append by a node that no longer leads. The node cannot know
	// whether the batch became durable: the next leader may have it. No client has seen the batch
	// yet.
	ErrDeposed = errors.New("this node no longer leads the cluster")
	// ErrDiverged reports that the log does not continue this node's state. The node must join
	// again.
	ErrDiverged = errors.New("this node's state differs from the cluster's log. Run ahphub cluster remove for this node " +
		"on another node, delete its data directory, and join again")
	// ErrTooLarge is returned for a batch over MostBatch.
	ErrTooLarge = fmt.Errorf("a batch is limited to %d bytes", MostBatch)
)

// MostBatch is the maximum size of a batch: larger ones delay the leader's heartbeats on slow
// links.
const MostBatch = 512 << 10

// Log is one node's view of the replicated log.
type Log interface {
	// Terms returns the terms in which this node leads, in order. A term is sent once this node has
	// applied everything that was appended before it.
	Terms() <-chan *Term
	// Done is closed once the node has stopped; Err returns the reason.
	Done() <-chan struct{}
	Err() error
	// Close stops the node and waits until it has stopped.
	Close() error
}

// Term is a period in which this node leads.
type Term struct {
	Number uint64
	ctx    context.Context
	append func(batch []byte) Ack

	confirm func() error
}

// Context returns a context that is canceled when the term ends.
func (t *Term) Context() context.Context { return t.ctx }

// Append appends a batch to the log. Batches become durable in the order of the calls; callers can
// append more batches before they wait for an earlier one. Append keeps a reference to batch.
func (t *Term) Append(batch []byte) Ack {
	if len(batch) > MostBatch {
		return newFailedAck(ErrTooLarge)
	}
	return t.append(batch)
}

// Confirm returns nil if no other node can have led before the call: a quorum has answered this
// node, now or within the lease. Anything read before the call is then current. Other errors are or
// wrap ErrDeposed. A process that was paused learns here that another node leads.
func (t *Term) Confirm() error { return t.confirm() }

// Ack is the pending result of an append.
type Ack interface {
	// Wait returns nil once the batch is durable on a quorum and applied here. Any error other than
	// ErrTooLarge is or wraps ErrDeposed.
	Wait() error
}

type failedAck struct{ error }

func newFailedAck(err error) Ack { return failedAck{err} }

// Wait returns the error.
func (f failedAck) Wait() error { return f.error }

// State is what a node builds from the entries of a log. Each node has its own, and all are equal
// at the same position. Calls do not overlap, except that a Snapshot may be written during other
// calls.
type State interface {
	// Applied returns the place of the newest applied entry, or the zero Place if there is none.
	Applied() Place
	// Apply applies the next entries and records the place of the last one, atomically: after a
	// crash, both or neither are on disk. An error stops the node, because its disk is failing.
	Apply(entries []Entry) error
	// Snapshot returns the current state for WriteTo, which may run while more entries are applied.
	// When Snapshot returns, everything up to that place is synced to disk.
	Snapshot() (Snapshot, error)
	// Restore replaces the state with the contents of a Snapshot, atomically even if the program
	// crashes.
	Restore(r io.Reader) error
}

// Snapshot is the state at one place.
type Snapshot interface {
	io.WriterTo
	// Release frees the resources of the snapshot.
	Release()
}
