package manage

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
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
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

type world struct {
	t    *testing.T
	docs *clustertest.Documents
}

type node struct {
	data string
	name string
	log  *cluster.Raft
	stop func()
}

// startOne runs the first node of a cluster, which leads.
func startOne(t *testing.T) (*world, *node) {
	t.Helper()
	w := &world{t: t, docs: &clustertest.Documents{}}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	return w, w.start(data, true)
}

// start starts the node of a data directory like a server.
func (w *world) start(data string, first bool) *node {
	w.t.Helper()
	n, err := peers.Open(data)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := n.Listen(n.Address())
	if err != nil {
		w.t.Fatal(err)
	}
	store := raft.NewInmemStore()
	transport := raft.NewNetworkTransportWithLogger(l.StreamLayer(), 3, 10*time.Second, hclog.NewNullLogger())
	log, err := cluster.Open(cluster.Config{ID: n.Name(), State: &clustertest.State{}, Transport: transport, Logs: store,
		Stable: store, Snapshots: raft.NewInmemSnapshotStore(), Heartbeat: time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	if first {
		if err := log.Bootstrap(map[string]string{n.Name(): n.Address()}); err != nil {
			w.t.Fatal(err)
		}
	}
	m := New(Config{Node: n, Log: log, Listener: l, Version: "test", Logger: slog.New(slog.DiscardHandler),
		Transfer: func(_ context.Context, name string) error {
			for _, one := range n.Members() {
				if one.Name == name {
					return log.TransferTo(name, one.Address)
				}
			}
			return log.Transfer()
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	check := func(err error) {
		if err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}
	wg.Go(func() { check(l.Serve(ctx, m.Handler())) })
	wg.Go(func() { check(m.Serve(ctx, data)) })
	wg.Go(func() { m.KeepFresh(ctx) })
	wg.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) { // update members as from the log
			if members, err := peers.ReadMembers(ctx, w.docs); err == nil && len(members) > 0 {
				check(n.SetMembers(members))
			}
		}
	})
	wg.Go(func() {
		for term := range log.Terms() {
			a, err := peers.OpenAuthority(term.Context(), peers.AuthorityConfig{Node: n, Docs: w.docs, Seal: clustertest.Sealing{}})
			if err != nil {
				check(err)
				continue
			}
			m.Lead(a)
			log.Pilot(term.Context(), cluster.PilotConfig{Every: 200 * time.Millisecond, Stable: 300 * time.Millisecond,
				Nodes: func() (all []cluster.Node) {
					for _, one := range n.Members() {
						all = append(all, cluster.Node{ID: one.Name, Address: one.Address, Reads: one.Reads})
					}
					return all
				}, Ask: m.Stats, Drop: func(string) {}})
			m.Lead(nil)
		}
	})
	out := &node{data: data, name: n.Name(), log: log, stop: sync.OnceFunc(func() {
		cancel()
		if err := log.Close(); err != nil {
			w.t.Error(err)
		}
		transport.Close()
		l.Close()
		wg.Wait()
	})}
	w.t.Cleanup(out.stop)
	return out
}

// ask repeats a call until a leader exists and the node is up.
func ask(t *testing.T, n *node, what string, in, out any) error {
	t.Helper()
	for {
		err := Call(t.Context(), n.data, what, in, out)
		if err == nil || !strings.Contains(err.Error(), ErrNoLeader.Error()) &&
			!strings.Contains(err.Error(), "not running") {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func must[T any](t *testing.T, n *node, what string, in any) (out T) {
	t.Helper()
	if err := ask(t, n, what, in, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *world) join(by *node, name string, reads bool) *node {
	w.t.Helper()
	token := must[Token](w.t, by, "token", Life{time.Hour}).Token
	data := w.t.TempDir()
	if err := peers.Join(w.t.Context(), token, data, name, loopbacktest.Address(w.t), "secrets.key", reads); err != nil {
		w.t.Fatal(err)
	}
	return w.start(data, false)
}

// await waits until a node's status has these nodes; * marks non-voters, ! the leader.
func await(t *testing.T, n *node, want string) Status {
	t.Helper()
	for got, began := "", time.Now(); ; time.Sleep(50 * time.Millisecond) {
		s := must[Status](t, n, "status", nil)
		var names []string
		for _, one := range s.Nodes {
			name := one.ID
			if !one.Votes {
				name += "*"
			}
			if one.Leads {
				name += "!"
			}
			if one.Error != "" {
				name += "?"
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if got = strings.Join(names, " "); got == want {
			return s
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("the status is %q, want %q", got, want)
		}
	}
}

func refused(t *testing.T, n *node, what string, in any, want string) {
	t.Helper()
	err := ask(t, n, what, in, &Done{})
	if !peers.IsRefused(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %v at %s: %v, want a refusal with %q", what, in, n.name, err, want)
	}
}

// Through any node, nodes can join, lead, leave and be removed.
func TestCommands(t *testing.T) {
	w := &world{t: t, docs: &clustertest.Documents{}}
	data := t.TempDir()
	err := Call(t.Context(), data, "status", nil, &Status{})
	if err == nil || !strings.Contains(err.Error(), "does not belong to a cluster") {
		t.Errorf("a call to a directory without a node: %v", err)
	}
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	err = Call(t.Context(), data, "status", nil, &Status{})
	if err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("a call to a stopped node: %v", err)
	}
	a := w.start(data, true)
	await(t, a, "a!")
	refused(t, a, "leave", nil, "only node")
	refused(t, a, "transfer", Name{""}, "no other voter")
	b := w.join(a, "b", false)
	if s := await(t, a, "a! b"); !strings.Contains(s.Warning, "Two nodes cannot fail over") || s.Tolerates != 0 {
		t.Errorf("the status of two nodes is %+v", s)
	}
	c := w.join(b, "c", false) // through a follower
	d := w.join(c, "d", true)
	s := await(t, c, "a! b c d*")
	if s.Warning != "" || s.Tolerates != 1 || s.Nodes[0].Version != "test" || s.Nodes[0].Expires.IsZero() {
		t.Errorf("the status of three nodes is %+v", s)
	}
	for _, n := range []*node{a, b, c, d} {
		if info, err := os.Stat(SocketPath(n.data)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket's mode is %v, %v", info.Mode(), err)
		}
	}

	if done := must[Done](t, b, "transfer", Name{"c"}); done.Leader != "c" {
		t.Errorf("%s leads after a transfer to c", done.Leader)
	}
	await(t, a, "a b c! d*")
	refused(t, b, "transfer", Name{"d"}, "not a voter")
	refused(t, b, "remove", Name{"c"}, "leads the cluster")
	refused(t, b, "remove", Name{"x"}, "no node \"x\"")
	refused(t, b, "token", Life{100 * time.Hour}, "at most")
	refused(t, b, "nonsense", nil, "does not know the call")
	refused(t, b, "keys", nil, "from b, which does not lead")

	must[Done](t, a, "remove", Name{"d"})
	await(t, a, "a b c!")
	d.stop()
	e := w.join(a, "e", false)
	await(t, e, "a b c! e")
	must[Done](t, c, "leave", nil) // the leader
	var late Token
	if err := Call(t.Context(), c.data, "token", Life{time.Hour}, &late); err == nil {
		t.Errorf("a node that left created the token %q", late.Token)
	}
	c.stop()
	for s = must[Status](t, e, "status", nil); len(s.Nodes) != 3 || s.Leader == ""; s = must[Status](t, e, "status", nil) {
		time.Sleep(50 * time.Millisecond)
	}
	// While one of three is down, neither of the others can be removed.
	down, up := a, e
	if s.Leader == "a" {
		down, up = b, a
	} else if s.Leader == "b" {
		up = b
	}
	down.stop()
	other := "e"
	if up == e {
		other = "b"
	}
	refused(t, up, "remove", Name{other}, "too few")
	third := e
	if up == e {
		third = b
	}
	third.stop()
	for s = must[Status](t, up, "status", nil); s.Leader != ""; s = must[Status](t, up, "status", nil) {
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(s.Warning, "No node leads") || !strings.Contains(s.Warning, "1 of 3") {
		t.Errorf("the status with one node of three is %+v", s)
	}
}

// Requests without a member's certificate are refused.
func TestRefuseCallsWithoutCertificate(t *testing.T) {
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	n, err := peers.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	m := &Manager{cfg: Config{Node: n}}
	r := httptest.NewRequest(http.MethodPost, "/cluster/token", nil)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("the status is %d", w.Code)
	}
}
