package cluster

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
)

// memberTime limits how long a membership change waits for raft to start it.
const memberTime = 10 * time.Second

// Server is a node in the log's configuration.
type Server struct {
	ID      string `json:"name"`
	Address string `json:"address"`
	Votes   bool   `json:"votes"`
	Leads   bool   `json:"leads"`
}

// Servers returns the nodes of the newest configuration that this node has.
func (r *Raft) Servers() ([]Server, error) {
	f := r.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	leader, _ := r.Leader()
	var all []Server
	for _, s := range f.Configuration().Servers {
		all = append(all, Server{string(s.ID), string(s.Address), s.Suffrage == raft.Voter, string(s.ID) == leader})
	}
	return all, nil
}

// AddReader adds a node as a non-voter. Only the leader can add nodes.
func (r *Raft) AddReader(id, address string) error {
	return orDeposed(r.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(address), 0, memberTime).Error())
}

// AddVoter adds a node as a voter, or promotes a non-voter.
func (r *Raft) AddVoter(id, address string) error {
	return orDeposed(r.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(address), 0, memberTime).Error())
}

// Remove removes a node from the log's servers. A leader that removes itself stops leading.
func (r *Raft) Remove(id string) error {
	return orDeposed(r.raft.RemoveServer(raft.ServerID(id), 0, memberTime).Error())
}

// TransferTo transfers leadership to the given node, like Transfer.
func (r *Raft) TransferTo(id, address string) error {
	return orDeposed(r.handOver(func() raft.Future {
		return r.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(address))
	}))
}

func orDeposed(err error) error {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipLost) {
		return ErrDeposed
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// Stats reports a node's progress.
type Stats struct {
	Term    uint64        `json:"term"`    // of the newest entry
	Index   uint64        `json:"index"`   // of the newest entry
	Applied uint64        `json:"applied"` // index
	Contact time.Duration `json:"contact"` // since the last message from the leader; negative if there was none
}

// Stats returns this node's progress.
func (r *Raft) Stats() Stats {
	all := r.raft.Stats()
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(all[name], 10, 64)
		return n
	}
	s := Stats{Term: number("last_log_term"), Index: number("last_log_index"),
		Applied: number("applied_index"), Contact: -1}
	if d, err := time.ParseDuration(all["last_contact"]); err == nil {
		s.Contact = d
	}
	s.Index = max(s.Index, number("last_snapshot_index"))
	s.Term = max(s.Term, number("last_snapshot_term"))
	return s
}
