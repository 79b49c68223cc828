package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Transport carries what nodes say to each other.
type Transport interface {
	raft.Transport
	raft.WithPreVote
}

// transport says of an append that it commits no more than it shows the follower to have: entries up to the last that it
// sends. The library tells the leader's own commit index, and a follower takes it as far as its log goes, which may end
// in entries of an earlier leader that were never committed: it would apply them.
type transport struct{ Transport }

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	return t.Transport.AppendEntries(id, target, bounded(args), resp)
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.Transport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return newPipeline(p), nil
}

// timeoutNowTime bounds how long a node that is asked to lead may take to answer. While it does, this node refuses appends.
const timeoutNowTime = time.Second

var errNoAnswer = errors.New("the node that is to lead does not answer")

// TimeoutNow implements raft.Transport. The library waits for the answer, also after it has given the handover up: of a computer that is
// off that would take as long as the transport waits for anything.
func (t transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	answer := &raft.TimeoutNowResponse{} // resp is the caller's after a timeout
	done := make(chan error, 1)
	go func() { done <- t.Transport.TimeoutNow(id, target, args, answer) }() // the transport bounds it
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

// pipeline is a transport's. It ends once a node has refused an append: the library reads no answer after such a one, and would wait for
// ever with the next append in its hand, so that the node is never sent anything again (hashicorp/raft issue 612).
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
	return p.AppendPipeline.AppendEntries(bounded(args), resp)
}

// bounded returns a request whose commit index is not above its last entry.
func bounded(args *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	last := args.PrevLogEntry + uint64(len(args.Entries))
	if args.LeaderCommitIndex <= last {
		return args
	}
	out := *args
	out.LeaderCommitIndex = last
	return &out
}
