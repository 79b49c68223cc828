package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrDeposed is the error of an append whose leader leads no more. Whether the batch became durable is not known to
	// it; the next leader has it or not, and nobody was told of it yet.
	ErrDeposed = errors.New("this node does not lead the cluster any more")
	// ErrDiverged is the error of a node whose state does not continue by what the log has. It must join anew.
	ErrDiverged = errors.New("the state of this node differs from the cluster's log. Remove the node from the cluster by " +
		"ahphub cluster remove on another one, delete its data directory, and join again")
	// ErrTooLarge refuses a batch.
	ErrTooLarge = fmt.Errorf("a batch has at most %d bytes", MostBatch)
)

// MostBatch bounds a batch: a larger one holds up the heartbeats of leaders on slow links.
const MostBatch = 512 << 10

// Log is the replicated log as one node has it.
type Log interface {
	// Terms returns the terms in which this node leads, one after the other. A term is sent once everything that was
	// appended before it is applied here.
	Terms() <-chan *Term
	// Done is closed once the node takes no further part; Err says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the node's part, and waits.
	Close() error
}

// Term is a time in which this node leads.
type Term struct {
	Number uint64
	ctx    context.Context
	append func(batch []byte) Ack

	confirm func() error
}

// Context returns a context that ends with the term.
func (t *Term) Context() context.Context { return t.ctx }

// Append adds a batch at the end of the log. Batches become durable in the order of their calls; the ack of one may be
// awaited while others are appended. The log keeps the batch.
func (t *Term) Append(batch []byte) Ack {
	if len(batch) > MostBatch {
		return failed(ErrTooLarge)
	}
	return t.append(batch)
}

// Confirm returns nil when no other node can have led until now: a quorum has answered this node, a moment ago or now. What was
// read before the call is then what the log has. Other errors are ErrDeposed or wrap it. A program that was stopped for a while learns
// here that others have gone on.
func (t *Term) Confirm() error { return t.confirm() }

// Ack tells what became of a batch.
type Ack interface {
	// Wait returns nil once the batch is durable on a quorum and applied here. Every other error than ErrTooLarge
	// is ErrDeposed or wraps it.
	Wait() error
}

type failedAck struct{ error }

func failed(err error) Ack { return failedAck{err} }

// Wait returns the error.
func (f failedAck) Wait() error { return f.error }

// State is what the entries of a log make: each node has its own, and all are alike at the same position. Its methods
// are called one at a time, but for what a Snapshot writes.
type State interface {
	// Applied returns the place of the newest entry that is applied; the zero Place before the first.
	Applied() Place
	// Apply applies the next entries in one step, and notes the place of the last with them: both or neither are there
	// after a crash. An error ends the node's part: the disk does not do what it should.
	Apply(entries []Entry) error
	// Snapshot returns what the state is now, for WriteTo, which may run while further entries are applied. Everything up
	// to there is on disk when it returns, whatever the disk did with it before.
	Snapshot() (Snapshot, error)
	// Restore replaces the state by what a Snapshot wrote, also after a crash half way: all of it or nothing.
	Restore(r io.Reader) error
}

// Snapshot is a state at one place.
type Snapshot interface {
	io.WriterTo
	// Release frees what the snapshot holds.
	Release()
}
