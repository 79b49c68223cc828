package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/web/gateway"
)

const (
	memberEvery = time.Second
	callTime    = 2 * time.Second
	mostCall    = 64 << 10
)

// ownNodeName returns this computer's name as a node name.
func ownNodeName() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name, "-"), "-")
	if peers.CheckName(name) != nil {
		return "node"
	}
	return name
}

// keepMembers keeps the member list up to date with the log.
func (n *node) keepMembers(ctx context.Context) {
	for {
		err := n.updateMembers(ctx)
		if errors.Is(err, errRemoved) {
			close(n.removed)
			return
		}
		if err != nil && ctx.Err() == nil {
			n.log.Debug("cannot read the members of the cluster", "err", err)
		}
		select {
		case <-time.After(memberEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (n *node) updateMembers(ctx context.Context) error {
	members, err := peers.ReadMembers(ctx, n.state.Store())
	if err != nil || len(members) == 0 {
		return err
	}
	is := slices.ContainsFunc(members, n.peers.Is)
	switch {
	case is:
		n.member = true
		return n.peers.SetMembers(members)
	case n.member:
		return errRemoved // keeps the saved members
	}
	// The members from joining are newer than this log, which may not even name the leader yet.
	return nil
}

const (
	noLeaderTime = 3 * time.Second // without a leader before the other nodes are asked why
	removalPoll  = 2 * time.Second
)

// errRemoved is the reason why a removed node exits.
var errRemoved = errors.New("this node was removed from its cluster, or its certificate has expired: " +
	"the other nodes refuse it. Its data is still here. To use this computer as a node again, delete the data directory and run " +
	"ahphub cluster join with a new token. To copy the data for a separate server, run ahphub cluster detach")

// watchRemoval returns errRemoved once this node was removed, according to the log or, if this node
// no longer receives it, to the other nodes.
func (n *node) watchRemoval(ctx context.Context) error {
	for since := time.Now(); ; {
		select {
		case <-n.removed:
			return errRemoved
		case <-time.After(removalPoll):
		case <-ctx.Done():
			return nil
		}
		if leader, _ := n.raft.Leader(); leader != "" {
			since = time.Now()
		}
		if time.Since(since) >= noLeaderTime && n.admin.IsTurnedAway(ctx) {
			return errRemoved
		}
	}
}

// sealing implements peers.Sealing with one label.
type sealing struct {
	keys  *secret.Keys
	label secret.Label
}

// Seal implements peers.Sealing.
func (s sealing) Seal(value []byte) string { return s.keys.Seal(s.label, value) }

// Open implements peers.Sealing.
func (s sealing) Open(sealed string) ([]byte, error) { return s.keys.Open(s.label, sealed) }

// Reseal implements peers.Sealing.
func (s sealing) Reseal(sealed string) (again string, changed bool, err error) {
	return s.keys.Reseal(s.label, sealed)
}

// openAuthority opens the authority, which lets nodes join while this node leads.
func (n *node) openAuthority(ctx context.Context, a *app) (err error) {
	if err := n.raft.BeginBySnapshot(); err != nil {
		return err
	}
	keys := func() ([]byte, error) { return os.ReadFile(a.keys.Source()) }
	if a.keys.IsOwners() {
		keys = nil
	}
	a.authority, err = peers.OpenAuthority(ctx, peers.AuthorityConfig{Node: n.peers, Docs: a.docs, Keys: keys,
		Seal: sealing{a.keys, secret.Label{Kind: "cluster", Name: "authority"}}})
	return err
}

// pilot keeps raft's servers in line with the members until ctx is canceled.
func (n *node) pilot(ctx context.Context, a *app) {
	n.raft.Pilot(ctx, cluster.PilotConfig{Ask: n.admin.Stats, Nodes: func() (list []cluster.Node) {
		members, err := peers.ReadMembers(ctx, a.docs) // this node's own copy may be older
		if err != nil {
			return nil
		}
		for _, m := range members {
			list = append(list, cluster.Node{ID: m.Name, Address: m.Address, Reads: m.Reads})
		}
		return list
	}, Drop: func(id string) {
		if err := a.authority.Remove(ctx, id); err != nil {
			n.log.Warn("cannot remove a dead node", "node", id, "err", err)
		}
	}})
}

// serveTrunk sends another node the frames of the rooms that its visitors watch.
func (n *node) serveTrunk(w http.ResponseWriter, r *http.Request) {
	if from, ok := peers.FromContext(r.Context()); ok {
		r = r.WithContext(live.WithNode(r.Context(), from.Name))
	}
	n.gateway.ServeTrunk(w, r)
}

// routes returns the handler of requests from other nodes.
func (n *node) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /signins", n.receiveSignIns)
	m.HandleFunc("GET "+gateway.TrunkPath, n.serveTrunk)
	m.Handle("/cluster/", n.admin.Handler())
	return m
}
