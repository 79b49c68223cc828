package manage

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// A leader may end after it has removed a node from the members, and before it has removed it from the log's servers. The next one
// completes that, and a new node of that name is one that follows first, at its own address.
func TestHalfARemovalIsCompleted(t *testing.T) {
	t.Parallel()
	w := &world{t: t, docs: &documents{all: map[string]map[string][]byte{}}}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	a := w.start(data, true)
	w.join(a, "b", false)
	c := w.join(a, "c", false)
	await(t, a, "a! b c")
	c.stop()
	if err := w.docs.Delete(t.Context(), peers.MemberBucket, "c"); err != nil { // as Authority.Remove does
		t.Fatal(err)
	}
	await(t, a, "a! b")
	again := w.join(a, "c", false)
	node, err := peers.Open(again.data)
	if err != nil {
		t.Fatal(err)
	}
	s := await(t, a, "a! b c")
	if at := s.Nodes[len(s.Nodes)-1].Address; at != node.Address() {
		t.Errorf("the log is sent to %s, and c is at %s", at, node.Address())
	}
}

// A name that the log still has among its servers is not given to another node: that one would vote at once, without a log.
func TestNameOfAServerIsRefused(t *testing.T) {
	t.Parallel()
	w := &world{t: t, docs: &documents{all: map[string]map[string][]byte{}}}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	a := w.start(data, true)
	await(t, a, "a!")
	others, err := peers.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	servers := []cluster.Server{{ID: "a"}, {ID: "c", Votes: true}}
	if err := checkRemoved("c", others.Members(), servers); err == nil || !strings.Contains(err.Error(), "still being removed") {
		t.Errorf("a name that is still a server's: %v", err)
	}
	for _, name := range []string{"a", "d"} { // a member is refused by the authority
		if err := checkRemoved(name, others.Members(), servers); err != nil {
			t.Error(err)
		}
	}
}

// Without a leader the status says which of the nodes that are left has most, as an election would.
func TestLogsAreComparedWithoutALeader(t *testing.T) {
	nodes := make([]NodeStatus, 4)
	nodes[3].Error = "it does not answer"
	compareLogs(nodes, []cluster.Stats{{Term: 4, Index: 90, Applied: 90}, {Term: 5, Index: 80, Applied: 10}, {Term: 5, Index: 70, Applied: 70}, {}})
	var got []uint64
	for _, n := range nodes {
		got = append(got, n.Behind)
	}
	if d := cmp.Diff([]uint64{1, 0, 10, 0}, got); d != "" {
		t.Errorf("they are behind (-want +got):\n%s", d)
	}
}

// Leadership is handed to a voter that answers, and a node that does not is refused while this one still leads.
func TestSuccessorAnswers(t *testing.T) {
	t.Parallel()
	w := &world{t: t, docs: &documents{all: map[string]map[string][]byte{}}}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	a := w.start(data, true)
	w.join(a, "b", false)
	c := w.join(a, "c", false)
	await(t, a, "a! b c")
	c.stop()
	await(t, a, "a! b c?")
	var d Done
	if err := ask(t, a, "transfer", Name{"c"}, &d); err == nil || !strings.Contains(err.Error(), "c does not answer") {
		t.Errorf("a transfer to a node that is down: %v", err)
	}
	if d = must[Done](t, a, "transfer", Name{}); d.Leader != "b" {
		t.Errorf("%q leads, want b, which is up", d.Leader)
	}
}

// A node that asks another one for what is the leader's is answered for itself, or not at all: it gets no certificate of that other one.
func TestNodesPassNoCallsOn(t *testing.T) {
	t.Parallel()
	w := &world{t: t, docs: &documents{all: map[string]map[string][]byte{}}}
	data := t.TempDir()
	if err := peers.Bootstrap(data, "a", loopbacktest.Address(t)); err != nil {
		t.Fatal(err)
	}
	a := w.start(data, true)
	b := w.join(a, "b", false)
	c := w.join(a, "c", false)
	await(t, b, "a! b c")
	me, err := peers.Open(c.data)
	if err != nil {
		t.Fatal(err)
	}
	transport := me.Transport()
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	for _, what := range []string{"renew", "leave"} {
		wg.Go(func() {
			if status := post(t, transport, "http://b"+prefix+what); status != 0 && status < 400 {
				t.Errorf("b answers %s of c with %d", what, status)
			}
		})
	}
	wg.Wait()
	await(t, a, "a! b c")
}

func post(t *testing.T, transport http.RoundTripper, url string) int {
	t.Helper()
	res, err := (&http.Client{Transport: transport}).Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}
