package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// testNode is a node in this process.
type testNode struct {
	*node
	url  string
	out  *lockedLog
	jar  http.CookieJar // of a browser, which ignores ports; nil: no cookies
	stop func() error
	ends func() error // waits until the node exits by itself
}

// startNode starts the node of a data directory.
func startNode(t *testing.T, data, name, address string) *testNode {
	t.Helper()
	cfg := Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "error",
		Cluster: clusterConfig{Cluster: true, ClusterName: name, ClusterAddress: address}}
	set, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: "test"})
	out := &lockedLog{}
	n := &testNode{url: "http://" + l.Addr().String(), out: out, node: &node{cfg: cfg, set: set, l: l, tel: tel, stdout: out,
		log: newLog(os.Stderr, cfg.LogFormat, cfg.LogLevel, tel.Hidden, tel.Handler())}}
	if err := n.open(t.Context()); err != nil {
		t.Fatal(errors.Join(err, n.close()))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(n.serve(ctx), n.close()) }()
	stopped := false
	n.ends = func() error {
		stopped = true
		defer cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			cancel()
			return errors.Join(errors.New("the node did not exit"), <-ended)
		}
	}
	n.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// joinNode joins a new data directory to the cluster and starts its node.
func joinNode(t *testing.T, leader *testNode, name string) *testNode {
	t.Helper()
	token, err := leader.leading().authority.Token(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	data, address := filepath.Join(t.TempDir(), "data"), loopbacktest.Address(t)
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := peers.Join(t.Context(), token, data, name, address, secret.KeyFile, false); err != nil {
		t.Fatal(err)
	}
	return startNode(t, data, "", "")
}

// startThree starts three voters; the first one leads and has a session.
func startThree(t *testing.T) (a, b, c *testNode) {
	t.Helper()
	data := isolate(t)
	createSession(t, data)
	a = startNode(t, data, "a", loopbacktest.Address(t))
	a.await(t, "/leaderz", http.StatusOK)
	b, c = joinNode(t, a, "b"), joinNode(t, a, "c")
	a.awaitVoters(t, 3)
	return a, b, c
}

// await requests a path until the node answers with a status.
func (n *testNode) await(t *testing.T, path string, want int) {
	t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		status, _ := n.get(t, path)
		if status == want {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%s%s answered %d, want %d", n.url, path, status, want)
		}
	}
}

func (n *testNode) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	client := http.Client{Jar: n.jar}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(res.Body)
	return res.StatusCode, b.String()
}

func (n *testNode) awaitVoters(t *testing.T, want int) {
	t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		servers, err := n.raft.Servers()
		votes := 0
		for _, s := range servers {
			if s.Votes {
				votes++
			}
		}
		if err == nil && votes == want {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d nodes vote, want %d: %v, %v", votes, want, servers, err)
		}
	}
}

// Three nodes serve one timeline: the cluster keeps the first node's data, every node answers, and
// another node leads after a transfer and after the leader stops.
func TestClusterOfThree(t *testing.T) {
	data := isolate(t)
	checkLeaks := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, checkLeaks)
	})
	createSession(t, data)
	a := startNode(t, data, "a", loopbacktest.Address(t))
	a.await(t, "/leaderz", http.StatusOK)
	b, c := joinNode(t, a, "b"), joinNode(t, a, "c")
	for _, n := range []*testNode{a, b, c} {
		n.await(t, "/readyz", http.StatusOK)
	}
	b.await(t, "/leaderz", http.StatusServiceUnavailable)
	a.awaitVoters(t, 3)
	status, page := b.get(t, "/signin")
	if status != http.StatusOK || !strings.Contains(page, "ahphub") {
		t.Errorf("a follower answered %d: %.200s", status, page)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.jar, b.jar, c.jar = jar, jar, jar
	b.signIn(t)
	c.hasSession(t)
	b.checkStyleSheets(t)
	b.checkLive(t, a)
	b.checkDeletedSession(t, a)
	if err := a.transfer(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*testNode{a, b, c} {
		if status, page := n.get(t, "/signin"); status != http.StatusOK {
			t.Errorf("after the transfer, %s answered %d: %.300s", n.peers.Name(), status, page)
		}
	}
	b.await(t, "/leaderz", http.StatusOK)
	for _, n := range []*testNode{a, b, c} {
		n.hasSession(t)
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	for _, n := range []*testNode{a, c} {
		if status, page := n.get(t, "/signin"); status != http.StatusOK {
			t.Errorf("after the leader stopped, %s answered %d: %.300s", n.peers.Name(), status, page)
		}
	}
}

// createSession runs a single server on a data directory and creates a session.
func createSession(t *testing.T, data string) {
	t.Helper()
	runAlone(t, data, func(ctx context.Context, a *app) error {
		session := ahp.URI("ahp-session:/" + ids.New())
		who := core.Caller{Principal: a.owner, ClientID: "test"}
		if err := a.host.CreateSession(ctx, who, ahp.CreateSessionParams{Channel: session}); err != nil {
			return err
		}
		return a.dispatch(ctx, who, session, &ahp.SessionTitleChangedAction{Title: brought})
	})
}

const brought = "Was there before the cluster"

// runAlone runs a hub without a cluster.
func runAlone(t *testing.T, data string, use func(context.Context, *app) error) {
	t.Helper()
	cfg := Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "error"}
	set, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: "test"})
	a, err := build(t.Context(), cfg, set, l, newLog(os.Stderr, cfg.LogFormat, cfg.LogLevel, tel.Hidden, tel.Handler()), tel, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = a.serve(ctx, func(ctx context.Context) error { defer stop(); return use(ctx, a) })
	if err := errors.Join(err, a.close()); err != nil {
		t.Fatal(err)
	}
}

// hasSession checks that the session of the first node is visible.
func (n *testNode) hasSession(t *testing.T) {
	t.Helper()
	if status, page := n.get(t, "/"); status != http.StatusOK || !strings.Contains(page, brought) {
		t.Errorf("%s answered %d without the session: %.300s", n.peers.Name(), status, page)
	}
}

// signIn signs in with a link created on this node.
func (n *testNode) signIn(t *testing.T) {
	t.Helper()
	token, err := access.SignIn{Dir: signInDir(n.cfg.Data)}.New()
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: n.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, want := range []int{http.StatusSeeOther, http.StatusForbidden} { // a link works once
		res, err := client.PostForm(n.url+"/signin", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("signing in at %s answered %d, want %d", n.peers.Name(), res.StatusCode, want)
		}
	}
}

// A sign-in link created on any node works once, even if another node leads by then.
func TestSignInLinksSurviveLeader(t *testing.T) {
	a, b, c := startThree(t)
	issue := func(n *testNode) string {
		token, err := access.SignIn{Dir: signInDir(n.cfg.Data)}.New()
		if err == nil {
			err = n.sendSignIns(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	use := func(n *testNode, token string, want int) {
		t.Helper()
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.PostForm(n.url+"/signin", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("signing in at %s answered %d, want %d", n.peers.Name(), res.StatusCode, want)
		}
	}
	used, ofLeader, ofOther := issue(b), issue(a), issue(b)
	use(c, used, http.StatusSeeOther)
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	b.await(t, "/readyz", http.StatusOK)
	c.await(t, "/readyz", http.StatusOK)
	for token, want := range map[string]int{
		used: http.StatusForbidden, ofLeader: http.StatusSeeOther, ofOther: http.StatusSeeOther,
	} {
		use(b, token, want)
		use(c, token, http.StatusForbidden)
	}
}

// A node can join while the leader is a node that its initial snapshot does not know.
func TestJoinUnderNewerLeader(t *testing.T) {
	a, b, c := startThree(t)
	if err := a.transfer(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "/leaderz", http.StatusOK)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.jar = jar
	b.signIn(t)
	d := joinNode(t, c, "d")
	d.jar = jar
	d.await(t, "/readyz", http.StatusOK)
	c.awaitVoters(t, 4)
	d.hasSession(t)
}

// A detached copy of a node's data serves alone, with its sessions and the secrets that the nodes
// share.
func TestServeDetachedDirectory(t *testing.T) {
	data := isolate(t)
	createSession(t, data)
	n := startNode(t, data, "a", loopbacktest.Address(t))
	n.await(t, "/leaderz", http.StatusOK)
	to := filepath.Join(t.TempDir(), "alone")
	c := clusterDetachCommand{Data: data, To: to} // while the node is running
	if err := c.Run(&environment{t.Context(), io.Discard, io.Discard}); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(&environment{t.Context(), io.Discard, io.Discard}); err == nil {
		t.Error("detach overwrote existing data")
	}
	for _, name := range sharedFiles {
		ours, err := os.ReadFile(filepath.Join(data, name))
		theirs, err2 := os.ReadFile(filepath.Join(to, name))
		if err != nil || err2 != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs: %v, %v", name, err, err2)
		}
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	runAlone(t, to, func(ctx context.Context, a *app) error {
		if list := a.summaries(); len(list) != 1 || list[0].Title != brought {
			t.Errorf("the sessions are %v", list)
		}
		members, err := peers.ReadMembers(ctx, a.store)
		if mark, _ := a.store.Mark(ctx); err != nil || len(members) > 0 || mark != nil {
			t.Errorf("the copy still belongs to a cluster: %v, %v, %x", members, err, mark)
		}
		return nil
	})
}

// A node's directory cannot be served without its cluster.
func TestRefuseServingNodeAlone(t *testing.T) {
	data := isolate(t)
	if err := peers.Bootstrap(data, "a", "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "error"},
		os.Stdout, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "ahphub cluster detach") {
		t.Errorf("serving returned %v", err)
	}
}
