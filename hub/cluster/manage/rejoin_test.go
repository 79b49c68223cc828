package manage

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
)

// startThree runs three voters, of which a leads.
func startThree(t *testing.T) (w *world, a, b, c *node) {
	t.Helper()
	w, a = startOne(t)
	b, c = w.join(a, "b", false), w.join(a, "c", false)
	await(t, a, "a! b c")
	return w, a, b, c
}

// If a leader ends after it removed a node from the members, but before it removed it from the
// log's servers, the next leader completes the removal. A new node with the same name starts as a
// non-voter, at its own address.
func TestCompleteInterruptedRemoval(t *testing.T) {
	t.Parallel()
	w, a, _, c := startThree(t)
	c.stop()
	if err := w.docs.Delete(t.Context(), peers.MemberBucket, "c"); err != nil { // like Authority.Remove
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
		t.Errorf("the log is sent to %s, but c is at %s", at, node.Address())
	}
}

// A name that is still among the log's servers is refused: a new node would be a voter at once,
// without a log.
func TestRefuseNameOfServer(t *testing.T) {
	t.Parallel()
	_, a := startOne(t)
	await(t, a, "a!")
	others, err := peers.Open(a.data)
	if err != nil {
		t.Fatal(err)
	}
	servers := []cluster.Server{{ID: "a"}, {ID: "c", Votes: true}}
	err = checkRemoved("c", others.Members(), servers)
	if err == nil || !strings.Contains(err.Error(), "still being removed") {
		t.Errorf("joining with the name of a server: %v", err)
	}
	for _, name := range []string{"a", "d"} { // the authority refuses members
		if err := checkRemoved(name, others.Members(), servers); err != nil {
			t.Error(err)
		}
	}
}

// Only a caller with a valid token learns which names are in use.
func TestCheckTokenBeforeName(t *testing.T) {
	t.Parallel()
	_, a := startOne(t)
	await(t, a, "a!")
	if err := a.log.AddReader("c", "127.0.0.1:1"); err != nil { // a server that is not a member
		t.Fatal(err)
	}
	refused(t, a, "join", peers.JoinRequest{Secret: []byte("wrong"), Name: "c"}, "this token is not valid")
}

// Without a leader, the status shows which remaining node has the most complete log, by the rule of
// elections.
func TestCompareLogsWithoutLeader(t *testing.T) {
	nodes := make([]NodeStatus, 4)
	nodes[3].Error = "it does not answer"
	compareLogs(nodes, []cluster.Stats{{Term: 4, Index: 90, Applied: 90}, {Term: 5, Index: 80, Applied: 10},
		{Term: 5, Index: 70, Applied: 70}, {}})
	var got []uint64
	for _, n := range nodes {
		got = append(got, n.Behind)
	}
	if d := cmp.Diff([]uint64{1, 0, 10, 0}, got); d != "" {
		t.Errorf("entries behind (-want +got):\n%s", d)
	}
}

// A leader hands over only to a voter that answers; otherwise it refuses and keeps leading.
func TestHandOverOnlyToReachableVoter(t *testing.T) {
	t.Parallel()
	_, a, _, c := startThree(t)
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

// A node handles a call from another node in that node's name or not at all: it never passes it on,
// so the caller cannot get a third node's certificate.
func TestNodesDoNotRelayCalls(t *testing.T) {
	t.Parallel()
	_, a, b, c := startThree(t)
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
				t.Errorf("b answers c's call %s with %d", what, status)
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
