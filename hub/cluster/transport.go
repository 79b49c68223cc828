package cluster

import (
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
	return pipeline{p}, nil
}

// Close implements raft.WithClose.
func (t transport) Close() error {
	if c, ok := t.Transport.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

// pipeline is a transport's.
type pipeline struct{ raft.AppendPipeline }

// AppendEntries implements raft.AppendPipeline.
func (p pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture,
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
