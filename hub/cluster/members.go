package cluster

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
)

// memberTime bounds how long a change of the servers waits for the library to begin it.
const memberTime = 10 * time.Second

// Server is a node as the log's configuration has it.
type Server struct {
	ID      string `json:"name"`
	Address string `json:"address"`
	Votes   bool   `json:"votes"`
	Leads   bool   `json:"leads"`
}

// Servers returns the nodes of the newest configuration that this node knows.
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

// AddReader adds a node that follows the log and does not vote. Only the leader can.
func (r *Raft) AddReader(id, address string) error {
	return orDeposed(r.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(address), 0, memberTime).Error())
}

// AddVoter adds a node that votes, or lets one vote that only followed.
func (r *Raft) AddVoter(id, address string) error {
	return orDeposed(r.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(address), 0, memberTime).Error())
}

// Remove removes a node from the log's servers. A leader that removes itself leads no more afterwards.
func (r *Raft) Remove(id string) error {
	return orDeposed(r.raft.RemoveServer(raft.ServerID(id), 0, memberTime).Error())
}

// TransferTo makes a certain node lead.
func (r *Raft) TransferTo(id, address string) error {
	return orDeposed(r.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(address)).Error())
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

// Stats are how far a node is.
type Stats struct {
	Term    uint64        `json:"term"`    // of the newest entry
	Index   uint64        `json:"index"`   // of the newest entry
	Applied uint64        `json:"applied"` // index
	Contact time.Duration `json:"contact"` // since the leader was heard; negative before it ever was
}

// Stats returns how far this node is.
func (r *Raft) Stats() Stats {
	all := r.raft.Stats()
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(all[name], 10, 64)
		return n
	}
	s := Stats{Term: number("last_log_term"), Index: number("last_log_index"), Applied: number("applied_index"), Contact: -1}
	if d, err := time.ParseDuration(all["last_contact"]); err == nil {
		s.Contact = d
	}
	s.Index = max(s.Index, number("last_snapshot_index"))
	s.Term = max(s.Term, number("last_snapshot_term"))
	return s
}
