package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/clustertest"
	"github.com/ahphub/ahphub/hub/cluster/peers"
)

// testCluster is a cluster over TCP whose documents are in memory, shared by all nodes.
type testCluster struct {
	clustertest.Documents
	t   *testing.T
	all map[string]*testNode
}

type testNode struct {
	peer     *peers.Node
	listener *peers.Listener
	log      *cluster.Raft
	stop     func()
}

// start starts the node of a data directory.
func (c *testCluster) start(data string, first bool, l net.Listener) *testNode {
	c.t.Helper()
	n, err := peers.Open(data)
	if err != nil {
		c.t.Fatal(err)
	}
	l.Close() // free the port for the node
	out := &testNode{peer: n}
	if out.listener, err = n.Listen(n.Address()); err != nil {
		c.t.Fatal(err)
	}
	store := raft.NewInmemStore()
	transport := raft.NewNetworkTransportWithLogger(out.listener.StreamLayer(), 3, 10*time.Second, hclog.NewNullLogger())
	out.log, err = cluster.Open(cluster.Config{ID: n.Name(), State: &clustertest.State{},
		Transport: transport, Logs: store,
		Stable: store, Snapshots: raft.NewInmemSnapshotStore(), Heartbeat: 500 * time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	if first {
		if err := out.log.Bootstrap(map[string]string{n.Name(): n.Address()}); err != nil {
			c.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = out.listener.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(out.log.Stats())
		}))
	})
	wg.Go(func() { c.lead(out) })
	out.stop = sync.OnceFunc(func() {
		cancel()
		if err := out.log.Close(); err != nil {
			c.t.Error(err)
		}
		transport.Close()
		out.listener.Close()
		wg.Wait()
	})
	c.t.Cleanup(out.stop)
	c.all[n.Name()] = out
	return out
}

// lead runs the leader's tasks in each term of a node.
func (c *testCluster) lead(n *testNode) {
	client := http.Client{Transport: n.peer.Transport()}
	defer client.CloseIdleConnections()
	for term := range n.log.Terms() {
		authority, err := peers.OpenAuthority(term.Context(), peers.AuthorityConfig{Node: n.peer, Docs: c, Seal: clustertest.Sealing{}})
		if err != nil {
			c.t.Error(err)
			return
		}
		n.listener.OnJoin(authority.Join)
		n.log.Pilot(term.Context(), cluster.PilotConfig{
			Nodes: func() (all []cluster.Node) {
				members, err := peers.ReadMembers(term.Context(), c)
				if err != nil {
					c.t.Error(err)
				}
				for _, m := range members {
					all = append(all, cluster.Node{ID: m.Name, Address: m.Address, Reads: m.Reads})
				}
				return all
			},
			Ask: func(ctx context.Context, id string) (s cluster.Stats, err error) {
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+id+"/", nil)
				resp, err := client.Do(r)
				if err != nil {
					return s, err
				}
				defer resp.Body.Close()
				return s, json.NewDecoder(resp.Body).Decode(&s)
			},
			Drop:  func(id string) { _ = authority.Remove(context.Background(), id) },
			Every: 200 * time.Millisecond, Stable: 300 * time.Millisecond, Dead: 5 * time.Second})
	}
}

// leader waits for a node that leads and can sign.
func (c *testCluster) leader() *testNode {
	c.t.Helper()
	for {
		for _, n := range c.all {
			if servers, err := n.log.Servers(); err == nil && slices.ContainsFunc(servers, func(s cluster.Server) bool {
				return s.Leads && s.ID == n.peer.Name()
			}) {
				return n
			}
		}
		c.pause("no node leads")
	}
}

func (c *testCluster) pause(why string) {
	c.t.Helper()
	select {
	case <-time.After(20 * time.Millisecond):
	case <-c.t.Context().Done():
		c.t.Fatal(why)
	}
}

// join adds a node. The other nodes get the new member list as from the log.
func (c *testCluster) join(name string, reads bool) *testNode {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	lead := c.leader()
	authority, err := peers.OpenAuthority(c.t.Context(), peers.AuthorityConfig{Node: lead.peer, Docs: c, Seal: clustertest.Sealing{}})
	if err != nil {
		c.t.Fatal(err)
	}
	lead.listener.OnJoin(authority.Join)
	token, err := authority.Token(c.t.Context(), time.Hour)
	if err != nil {
		c.t.Fatal(err)
	}
	data := c.t.TempDir()
	if err := peers.Join(c.t.Context(), token, data, name, l.Addr().String(), "secrets.key", reads); err != nil {
		c.t.Fatal(err)
	}
	n := c.start(data, false, l)
	c.spread()
	return n
}

func (c *testCluster) spread() {
	members, err := peers.ReadMembers(context.Background(), c)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, n := range c.all {
		if err := n.peer.SetMembers(members); err != nil {
			c.t.Fatal(err)
		}
	}
}

// await waits until the leader has these servers; * marks non-voters.
func (c *testCluster) await(want string) {
	c.t.Helper()
	got := ""
	for began := time.Now(); time.Since(began) < 2*time.Minute; c.pause(got) {
		servers, err := c.leader().log.Servers()
		if err != nil {
			continue
		}
		var names []string
		for _, s := range servers {
			if s.Votes {
				names = append(names, s.ID)
			} else {
				names = append(names, s.ID+"*")
			}
		}
		slices.Sort(names)
		if got = strings.Join(names, " "); got == want {
			return
		}
	}
	c.t.Fatalf("the servers are %s, want %s", got, want)
}

// Nodes that join over TCP become voters after a while, unless they joined with reads, and a dead
// node is removed once three other voters remain.
func TestPilot(t *testing.T) {
	c := &testCluster{t: t, all: map[string]*testNode{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	c.start(data, true, l)
	c.await("a")
	c.join("b", false)
	c.await("a b")
	dead := c.join("c", false)
	c.await("a b c")
	c.join("r", true)
	c.await("a b c r*")

	b := c.all["b"]
	if err := c.leader().log.TransferTo("b", b.peer.Address()); err != nil {
		t.Fatal(err)
	}
	for c.leader() != b {
		c.pause("b does not lead")
	}
	err = c.all["a"].log.AddVoter("x", "127.0.0.1:1")
	if err == nil || !strings.Contains(err.Error(), "no longer leads") {
		t.Errorf("a follower added a node: %v", err)
	}
	if s := b.log.Stats(); s.Index == 0 || s.Term == 0 || s.Contact != 0 {
		t.Errorf("the leader's stats are %+v", s)
	}

	dead.stop()
	delete(c.all, "c")
	c.join("d", false)
	c.await("a b d r*")
	members, err := peers.ReadMembers(t.Context(), c)
	if err != nil || slices.ContainsFunc(members, func(m peers.Member) bool { return m.Name == "c" }) {
		t.Errorf("the dead node is still a member: %v, %v", members, err)
	}
	if err := c.leader().log.Remove("r"); err != nil {
		t.Error(fmt.Errorf("cannot remove a node: %w", err))
	}
}
