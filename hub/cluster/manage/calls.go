package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
)

// Name names the node that a call is about.
type Name struct {
	Name string `json:"name"`
}

// Life is the lifetime of a requested token.
type Life struct {
	Life time.Duration `json:"life"`
}

// Token is the reply with a token.
type Token struct {
	Token string `json:"token"`
}

// Done is the reply of a call that returns nothing else.
type Done struct {
	Leader  string `json:"leader,omitempty"`
	Warning string `json:"warning,omitempty"`
}

// answer handles a call from a member. passed is true for calls from another node, which this node
// does not pass on again.
func (m *Manager) answer(ctx context.Context, what string, body []byte, from peers.Member,
	passed bool) ([]byte, error) {
	switch what {
	case "report":
		return json.Marshal(m.ownReport())
	case "keys":
		if leader, _ := m.cfg.Log.Leader(); from.Name != leader {
			return nil, peers.Refuse(fmt.Errorf("refusing keys from %s, which does not lead", from.Name))
		}
		return m.cfg.AcceptKeys(body)
	case "leave":
		if !passed { // called by the owner, through the socket
			return encode(m.leave(ctx))
		}
	}
	a := m.leading()
	if a == nil {
		leader, _ := m.cfg.Log.Leader()
		if what == "status" && (leader == "" || leader == m.cfg.Node.Name()) {
			return encode(m.status(ctx))
		}
		if a, leader = m.awaitLeading(ctx, passed); leader != "" {
			return m.pass(ctx, leader, what, body)
		}
	}
	if a == nil {
		return nil, ErrNoLeader
	}
	return m.answerAsLeader(ctx, a, what, body, from)
}

// answerAsLeader handles a call that only the leader can handle.
func (m *Manager) answerAsLeader(ctx context.Context, a *peers.Authority, what string, body []byte,
	from peers.Member) ([]byte, error) {
	switch what {
	case "status":
		return encode(m.status(ctx))
	case "renew":
		var request []byte
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		return encode(a.Renew(from, request))
	case "join":
		var r peers.JoinRequest
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
		return encode(m.join(ctx, a, r))
	case "token":
		var l Life
		if err := json.Unmarshal(body, &l); err != nil {
			return nil, err
		}
		token, err := a.Token(ctx, l.Life)
		return encode(Token{token}, err)
	case "remove":
		var n Name
		if err := json.Unmarshal(body, &n); err != nil {
			return nil, err
		}
		return encode(m.remove(ctx, a, n.Name))
	case "transfer":
		var n Name
		if err := json.Unmarshal(body, &n); err != nil {
			return nil, err
		}
		return encode(m.transfer(ctx, n.Name))
	}
	err := fmt.Errorf("this node does not know the call %q: use the same release of ahphub on all nodes", what)
	return nil, peers.Refuse(err)
}

func encode[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// awaitLeading waits until this node leads, or another leader is known to which the call may be
// passed. It waits longer than a change of leader usually takes.
func (m *Manager) awaitLeading(ctx context.Context, passed bool) (*peers.Authority, string) {
	ctx, cancel := context.WithTimeout(ctx, leadTime)
	defer cancel()
	for {
		if a := m.leading(); a != nil {
			return a, ""
		}
		if leader, _ := m.cfg.Log.Leader(); leader != "" && leader != m.cfg.Node.Name() && !passed {
			return nil, leader
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ""
		}
	}
}

// join adds a node. Only one with a valid token learns which names are in use.
func (m *Manager) join(ctx context.Context, a *peers.Authority, r peers.JoinRequest) (peers.JoinReply, error) {
	if err := a.CheckToken(ctx, r.Secret); err != nil {
		return peers.JoinReply{}, err
	}
	servers, err := m.cfg.Log.Servers()
	if err == nil {
		err = checkRemoved(r.Name, m.cfg.Node.Members(), servers)
	}
	if err != nil {
		return peers.JoinReply{}, err
	}
	return a.Join(ctx, r)
}

// checkRemoved refuses the name of a removed node that is still among the log's servers: a new node
// with that name would be a voter at once, without the old node's log.
func checkRemoved(name string, members []peers.Member, servers []cluster.Server) error {
	isMember := slices.ContainsFunc(members, func(one peers.Member) bool { return one.Name == name })
	if !isMember && slices.ContainsFunc(servers, func(s cluster.Server) bool { return s.ID == name }) {
		return peers.Refuse(fmt.Errorf("%s is still being removed. Try again in a few seconds", name))
	}
	return nil
}

// remove removes another node. This node leads.
func (m *Manager) remove(ctx context.Context, a *peers.Authority, name string) (Done, error) {
	if name == m.cfg.Node.Name() {
		return Done{}, peers.Refuse(fmt.Errorf("%s leads the cluster. "+
			"Run ahphub cluster leave there, or ahphub cluster transfer first", name))
	}
	s, err := m.status(ctx)
	if err != nil {
		return Done{}, err
	}
	voters, healthy, found := 0, 0, false
	for _, n := range s.Nodes {
		switch {
		case n.ID == name:
			found = true
		case n.Votes:
			voters++
			if n.Error == "" {
				healthy++
			}
		}
	}
	if !found {
		return Done{}, peers.Refuse(fmt.Errorf("the cluster has no node %q. ahphub cluster status lists them", name))
	}
	if healthy <= voters/2 {
		return Done{}, peers.Refuse(fmt.Errorf("without %s, only %d of %d voters would be up, which is too few. "+
			"Start the others first",
			name, healthy, voters))
	}
	if err := a.Remove(ctx, name); err != nil { // from here on, its certificate is refused
		return Done{}, err
	}
	return Done{Warning: warnOfVoters(voters)}, m.cfg.Log.Remove(name)
}

// transfer transfers leadership to the named node, or to the best one for "".
func (m *Manager) transfer(ctx context.Context, name string) (Done, error) {
	if name == m.cfg.Node.Name() {
		return Done{Leader: name}, nil
	}
	name, err := m.Successor(ctx, name)
	if err != nil {
		return Done{}, err
	}
	if err := m.cfg.Transfer(ctx, name); err != nil {
		return Done{}, peers.Refuse(fmt.Errorf("%s cannot lead now: %w", cmp.Or(name, "another node"), err))
	}
	return m.awaitLeader(ctx)
}

// Successor returns the node to hand leadership to: the named one, or for "" the one that is least
// behind. It refuses nodes that are not voters or do not answer, which would stop this node's hub
// for nothing.
func (m *Manager) Successor(ctx context.Context, name string) (string, error) {
	s, err := m.status(ctx)
	if err != nil {
		return "", err
	}
	best, found := NodeStatus{}, false
	for _, n := range s.Nodes {
		switch {
		case !n.Votes || n.ID == m.cfg.Node.Name() || name != "" && n.ID != name:
		case n.Error != "" && name != "":
			return "", peers.Refuse(fmt.Errorf("%s does not answer: %s", name, n.Error))
		case n.Error == "" && (!found || n.Behind < best.Behind):
			best, found = n, true
		}
	}
	switch {
	case found:
		return best.ID, nil
	case name != "":
		return "", peers.Refuse(fmt.Errorf("%q is not a voter of this cluster. ahphub cluster status lists the nodes", name))
	}
	return "", peers.Refuse(errors.New("no other voter is up"))
}

// awaitLeader waits until another node leads.
func (m *Manager) awaitLeader(ctx context.Context) (Done, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime/2)
	defer cancel()
	for {
		if leader, _ := m.cfg.Log.Leader(); leader != "" && leader != m.cfg.Node.Name() {
			return Done{Leader: leader}, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return Done{}, ErrNoLeader
		}
	}
}

// leave removes this node from the cluster.
func (m *Manager) leave(ctx context.Context) (Done, error) {
	if len(m.cfg.Node.Members()) == 1 {
		return Done{}, peers.Refuse(errors.New("this is the only node. " +
			"To make it a separate server, run ahphub cluster detach"))
	}
	if m.leading() != nil {
		if _, err := m.transfer(ctx, ""); err != nil {
			return Done{}, err
		}
	}
	body, err := json.Marshal(Name{m.cfg.Node.Name()})
	if err != nil {
		return Done{}, err
	}
	asked := ""
	for { // until the next leader is ready
		leader, _ := m.cfg.Log.Leader()
		if leader == "" || leader == m.cfg.Node.Name() {
			leader = asked
		}
		err := ErrNoLeader
		if leader != "" {
			var b []byte
			if b, err = m.pass(ctx, leader, "remove", body); err == nil {
				var d Done
				return d, json.Unmarshal(b, &d)
			}
			// The leader closes the connections of a node that it removes, this one included, and
			// refuses new ones.
			if errors.Is(err, peers.ErrTurnedAway) && asked != "" {
				return Done{}, nil
			}
			asked = leader
		}
		if peers.IsRefused(err) {
			return Done{}, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return Done{}, err
		}
	}
}

// Report is a node's report about itself.
type Report struct {
	Stats   cluster.Stats `json:"stats"`
	Expires time.Time     `json:"expires"` // of its certificate
	Version string        `json:"version"`
	Key     string        `json:"key,omitempty"` // ID of the key that encrypts secrets
}

func (m *Manager) ownReport() Report {
	return Report{m.cfg.Log.Stats(), m.cfg.Node.Expires(), m.cfg.Version, m.cfg.KeyID()}
}

// report fetches the report of a node.
func (m *Manager) report(ctx context.Context, name string) (r Report, err error) {
	if name == m.cfg.Node.Name() {
		return m.ownReport(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportAge)
	defer cancel()
	b, err := m.pass(ctx, name, "report", nil)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// IsTurnedAway reports whether more than half of the other voters refuse this node.
func (m *Manager) IsTurnedAway(ctx context.Context) bool {
	var away atomic.Int32
	var wg sync.WaitGroup
	others := 0
	for _, one := range m.cfg.Node.Members() {
		if one.Name == m.cfg.Node.Name() || one.Reads {
			continue
		}
		others++
		wg.Go(func() {
			if _, err := m.report(ctx, one.Name); errors.Is(err, peers.ErrTurnedAway) {
				away.Add(1)
			}
		})
	}
	wg.Wait()
	return 2*int(away.Load()) > others
}

// Stats fetches a node's progress.
func (m *Manager) Stats(ctx context.Context, name string) (cluster.Stats, error) {
	r, err := m.report(ctx, name)
	return r.Stats, err
}

// Status is the cluster's state as one node sees it.
type Status struct {
	Cluster   string       `json:"cluster"`
	Leader    string       `json:"leader"` // "" if unknown
	Nodes     []NodeStatus `json:"nodes"`
	Tolerates int          `json:"tolerates"` // how many more voters may fail
	Warning   string       `json:"warning,omitempty"`
}

// NodeStatus is the state of one node.
type NodeStatus struct {
	cluster.Server
	Reads   bool      `json:"reads"`  // permanent non-voter; other non-voters become voters
	Behind  uint64    `json:"behind"` // entries not applied yet; without a leader, entries missing from its log
	Expires time.Time `json:"expires,omitzero"`
	Version string    `json:"version,omitempty"`
	Key     string    `json:"key,omitempty"`   // ID of the key that encrypts secrets
	Error   string    `json:"error,omitempty"` // why it did not answer
}

// IsTrailing reports whether the node lacks more entries than a healthy node may.
func (s NodeStatus) IsTrailing() bool { return s.Behind > cluster.MostTrailing }

func (m *Manager) status(ctx context.Context) (Status, error) {
	servers, err := m.cfg.Log.Servers()
	if err != nil {
		return Status{}, err
	}
	s := Status{Cluster: m.cfg.Node.Cluster(), Nodes: make([]NodeStatus, len(servers))}
	s.Leader, _ = m.cfg.Log.Leader()
	index := m.cfg.Log.Stats().Index
	stats := make([]cluster.Stats, len(servers))
	reads := map[string]bool{}
	for _, one := range m.cfg.Node.Members() {
		reads[one.Name] = one.Reads
	}
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() {
			n := NodeStatus{Server: server, Reads: reads[server.ID]}
			r, err := m.report(ctx, server.ID)
			if err != nil {
				n.Error = err.Error()
			} else {
				n.Expires, n.Version, n.Key = r.Expires, r.Version, r.Key
				n.Behind = index - min(index, r.Stats.Applied)
				stats[i] = r.Stats
			}
			s.Nodes[i] = n
		})
	}
	wg.Wait()
	if s.Leader == "" {
		compareLogs(s.Nodes, stats)
	}
	voters, up := 0, 0
	for _, n := range s.Nodes {
		if n.Votes {
			voters++
			if n.Error == "" {
				up++
			}
		}
	}
	s.Tolerates = max(0, up-voters/2-1)
	if s.Leader == "" {
		s.Warning = fmt.Sprintf("No node leads, so nothing can be read or written: "+
			"%d of %d voters are up, but %d are needed. Start the others", up, voters, voters/2+1)
	}
	s.Warning = cmp.Or(s.Warning, warnOfVoters(voters), warnOfKeys(s.Nodes))
	return s, nil
}

// compareLogs sets how far each log is behind the most complete one, while no node leads and knows
// what a quorum has. As in elections, a newer term counts before more entries.
func compareLogs(nodes []NodeStatus, stats []cluster.Stats) {
	var newest cluster.Stats
	for _, s := range stats {
		if s.Term > newest.Term || s.Term == newest.Term && s.Index > newest.Index {
			newest = s
		}
	}
	for i, s := range stats {
		switch {
		case nodes[i].Error != "":
		case s.Term == newest.Term:
			nodes[i].Behind = newest.Index - s.Index
		default:
			nodes[i].Behind = max(1, newest.Index-min(newest.Index, s.Index))
		}
	}
}

// warnOfKeys returns a warning if nodes encrypt secrets with different keys.
func warnOfKeys(nodes []NodeStatus) string {
	key := ""
	for _, n := range nodes {
		if n.Key != "" && key != "" && n.Key != key {
			return "Not all nodes encrypt secrets with the same key. Run ahphub secrets rotate"
		}
		key = cmp.Or(n.Key, key)
	}
	return ""
}

// Offer sends keys of secrets to a node and returns its answer; both are JSON. This node leads.
func (m *Manager) Offer(ctx context.Context, name string, offer []byte) ([]byte, error) {
	return m.pass(ctx, name, "keys", offer)
}

// TwoNodes warns of a cluster of two nodes.
const TwoNodes = "Two nodes cannot fail over: when either fails, nothing can be read or written. Add a third node"

// warnOfVoters returns a warning about an unsuitable number of voters.
func warnOfVoters(voters int) string {
	switch {
	case voters == 2:
		return TwoNodes
	case voters > 2 && voters%2 == 0:
		return fmt.Sprintf("%d voters tolerate no more failures than %d. Add one or remove one", voters, voters-1)
	}
	return ""
}
