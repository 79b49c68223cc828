package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Transport carries messages between nodes.
type Transport interface {
	raft.Transport
	raft.WithPreVote
}

// transport limits the commit index of an append to the last entry that the request contains. Raft
// sends the leader's own commit index, and a follower commits up to the end of its log, which may
// contain entries of an earlier leader that were never committed.
type transport struct{ Transport }

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	return t.Transport.AppendEntries(id, target, limitCommit(args), resp)
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.Transport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return newPipeline(p), nil
}

// timeoutNowTime limits how long the next leader may take to answer; this node refuses appends
// meanwhile.
const timeoutNowTime = time.Second

var errNoAnswer = errors.New("the next leader does not answer")

// TimeoutNow implements raft.Transport. Raft waits for the answer even after it has given up the
// handover; for a computer that is off, that would take the transport's whole timeout.
func (t transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	answer := &raft.TimeoutNowResponse{} // the caller owns resp after a timeout
	done := make(chan error, 1)
	go func() { done <- t.Transport.TimeoutNow(id, target, args, answer) }() // ends by the transport's timeout
	timer := time.NewTimer(timeoutNowTime)
	defer timer.Stop()
	select {
	case err := <-done:
		*resp = *answer
		return err
	case <-timer.C:
		return errNoAnswer
	}
}

// Close implements raft.WithClose.
func (t transport) Close() error {
	if c, ok := t.Transport.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

// pipeline closes once a node has refused an append. Raft reads no answers after a refusal: it
// would block forever with the next append, and never send to that node again (hashicorp/raft issue
// 612).
type pipeline struct {
	raft.AppendPipeline
	answers chan raft.AppendFuture
	closed  chan struct{}
	close   func() error
}

func newPipeline(of raft.AppendPipeline) *pipeline {
	p := &pipeline{AppendPipeline: of, answers: make(chan raft.AppendFuture), closed: make(chan struct{})}
	p.close = sync.OnceValue(func() error {
		close(p.closed)
		return of.Close()
	})
	go p.relay()
	return p
}

func (p *pipeline) relay() {
	for {
		var f raft.AppendFuture
		select {
		case f = <-p.AppendPipeline.Consumer():
		case <-p.closed:
			return
		}
		select {
		case p.answers <- f:
		case <-p.closed:
			return
		}
		if !f.Response().Success {
			_ = p.close()
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error { return p.close() }

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture,
	error) {
	return p.AppendPipeline.AppendEntries(limitCommit(args), resp)
}

// limitCommit returns a request whose commit index is not above its last entry.
func limitCommit(args *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	last := args.PrevLogEntry + uint64(len(args.Entries))
	if args.LeaderCommitIndex <= last {
		return args
	}
	out := *args
	out.LeaderCommitIndex = last
	return &out
}
