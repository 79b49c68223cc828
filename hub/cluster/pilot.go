package cluster

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
)

// Node is a member of the cluster.
type Node struct {
	ID      string
	Address string
	Reads   bool // stays a non-voter
}

// PilotConfig configures Pilot; zero durations use the stated default.
type PilotConfig struct {
	Nodes func() []Node                                       // returns the members; empty if they are unknown now
	Ask   func(ctx context.Context, id string) (Stats, error) // fetches another node's stats
	Drop  func(id string)                                     // removes a dead node permanently

	Every  time.Duration // check interval: 2 s
	Stable time.Duration // health before a node becomes a voter: 10 s
	Silent time.Duration // without contact before a node is unhealthy: 2 s
	Dead   time.Duration // without an answer before a node is removed, if three voters remain: 24 h
}

// MostTrailing is how many entries a healthy node may lag behind.
const MostTrailing = 500

// Pilot keeps the log's servers in line with the cluster's members during a term of this node,
// until ctx is canceled. New nodes start as non-voters and become voters once they have been
// healthy for a while.
func (r *Raft) Pilot(ctx context.Context, c PilotConfig) {
	p := &pilot{PilotConfig: c, raft: r, seen: map[string]time.Time{}}
	every := orElse(c.Every, 2*time.Second)
	auto := autopilot.New(r.raft, p, autopilot.WithLogger(r.logger),
		autopilot.WithPromoter(promoter{autopilot.DefaultPromoter()}),
		autopilot.WithUpdateInterval(every), autopilot.WithReconcileInterval(every))
	auto.Start(ctx)
	defer func() { <-auto.Stop() }()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		p.matchServers()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// pilot implements autopilot.ApplicationIntegration.
type pilot struct {
	PilotConfig
	raft *Raft

	mu   sync.Mutex
	seen map[string]time.Time // last answer of each node; initially its first poll
}

// matchServers aligns the log's servers with the members. It removes servers that are not members,
// which a leader leaves behind if it dies while it removes one, and adds members that the log
// lacks.
func (p *pilot) matchServers() {
	servers, err := p.raft.Servers()
	nodes := p.Nodes()
	if err != nil || len(nodes) == 0 {
		return
	}
	addresses, have := map[string]string{}, map[string]bool{}
	for _, n := range nodes {
		addresses[n.ID] = n.Address
	}
	for _, s := range servers {
		if s.Leads || addresses[s.ID] == s.Address {
			have[s.ID] = true
			continue
		}
		if err := p.raft.Remove(s.ID); err != nil {
			have[s.ID] = true
			p.raft.logger.Warn("cannot remove a server that is not a member", "node", s.ID, "err", err)
		}
	}
	for _, n := range nodes {
		if have[n.ID] {
			continue
		}
		if err := p.raft.AddReader(n.ID, n.Address); err != nil {
			p.raft.logger.Warn("cannot add a node", "node", n.ID, "err", err)
		}
	}
}

// AutopilotConfig implements autopilot.ApplicationIntegration.
func (p *pilot) AutopilotConfig() *autopilot.Config {
	return &autopilot.Config{CleanupDeadServers: true, MinQuorum: 3, MaxTrailingLogs: MostTrailing,
		LastContactThreshold:    orElse(p.Silent, 2*time.Second),
		ServerStabilizationTime: orElse(p.Stable, 10*time.Second)}
}

// NotifyState implements autopilot.ApplicationIntegration.
func (p *pilot) NotifyState(*autopilot.State) {}

const (
	nodeReads = autopilot.NodeType("reader")
	nodeVotes = autopilot.NodeVoter
)

// KnownServers implements autopilot.ApplicationIntegration.
func (p *pilot) KnownServers() map[raft.ServerID]*autopilot.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	leader, _ := p.raft.Leader()
	now, all := time.Now(), map[raft.ServerID]*autopilot.Server{}
	for _, n := range p.Nodes() {
		s := &autopilot.Server{ID: raft.ServerID(n.ID), Name: n.ID, Address: raft.ServerAddress(n.Address),
			NodeStatus: autopilot.NodeAlive, RaftVersion: 3, NodeType: nodeVotes, IsLeader: n.ID == leader}
		if n.Reads {
			s.NodeType = nodeReads
		}
		if seen, ok := p.seen[n.ID]; !ok {
			p.seen[n.ID] = now
		} else if now.Sub(seen) > orElse(p.Dead, 24*time.Hour) && n.ID != leader {
			s.NodeStatus = autopilot.NodeFailed
		}
		all[s.ID] = s
	}
	return all
}

// FetchServerStats implements autopilot.ApplicationIntegration. It polls all members, since a node
// that failed may be back. For a node that does not answer, it reports no contact; otherwise
// autopilot would keep using the node's last answer.
func (p *pilot) FetchServerStats(ctx context.Context,
	_ map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	all := map[raft.ServerID]*autopilot.ServerStats{}
	leader, _ := p.raft.Leader()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, n := range p.Nodes() {
		wg.Go(func() {
			var s Stats
			var err error
			if n.ID == leader {
				s = p.raft.Stats()
			} else {
				s, err = p.Ask(ctx, n.ID)
			}
			out := &autopilot.ServerStats{LastContact: s.Contact, LastTerm: s.Term, LastIndex: s.Index}
			if err != nil {
				out = &autopilot.ServerStats{LastContact: math.MaxInt64}
			} else {
				p.recordAnswer(n.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			all[raft.ServerID(n.ID)] = out
		})
	}
	wg.Wait()
	return all
}

func (p *pilot) recordAnswer(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[id] = time.Now()
}

// RemoveFailedServer implements autopilot.ApplicationIntegration.
func (p *pilot) RemoveFailedServer(s *autopilot.Server) {
	p.raft.logger.Warn("removing a dead node", "node", s.Name)
	go p.Drop(s.Name)
}

// promoter promotes healthy nodes, except permanent non-voters.
type promoter struct{ autopilot.Promoter }

// GetNodeTypes implements autopilot.Promoter.
func (promoter) GetNodeTypes(_ *autopilot.Config, s *autopilot.State) map[raft.ServerID]autopilot.NodeType {
	types := map[raft.ServerID]autopilot.NodeType{}
	for id, server := range s.Servers {
		types[id] = server.Server.NodeType
	}
	return types
}

// CalculatePromotionsAndDemotions implements autopilot.Promoter.
func (p promoter) CalculatePromotionsAndDemotions(c *autopilot.Config, s *autopilot.State) autopilot.RaftChanges {
	changes := p.Promoter.CalculatePromotionsAndDemotions(c, s)
	var votes []raft.ServerID
	for _, id := range changes.Promotions {
		if s.Servers[id].Server.NodeType == nodeVotes {
			votes = append(votes, id)
		}
	}
	changes.Promotions = votes
	return changes
}
