package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
	"github.com/ahphub/ahphub/hub/store"
	"github.com/ahphub/ahphub/web"
)

// startAlone runs the only node of a cluster.
func startAlone(t *testing.T, data string) *testNode {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	n := startNode(t, data, "a", loopbacktest.Address(t))
	n.await(t, "/leaderz", http.StatusOK)
	return n
}

// A node whose log was lost, and not its database, would vote as if it had never voted or acknowledged anything.
func TestNodeWithoutItsLogDoesNotStart(t *testing.T) {
	n := startAlone(t, isolate(t))
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(logDir(n.cfg.Data)); err != nil {
		t.Fatal(err)
	}
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	again := &node{cfg: n.cfg, set: n.set, l: l, tel: n.tel, stdout: n.out, log: n.log}
	if err := again.open(context.WithoutCancel(t.Context())); !errors.Is(err, cluster.ErrDamaged) {
		t.Errorf("it starts: %v", err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// The copy of a node that is stopped has what only its log has: the others may have shown it to people.
func TestDetachedCopyHasTheEndOfTheLog(t *testing.T) {
	data := isolate(t)
	n := startAlone(t, data)
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(filepath.Join(data, "ahphub.db"))
	if err != nil {
		t.Fatal(err)
	}
	n = startNode(t, data, "", "")
	n.await(t, "/leaderz", http.StatusOK)
	if err := n.leading().docs.Put(t.Context(), "notes", "a", []byte("what people saw")); err != nil {
		t.Fatal(err)
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "ahphub.db"), older, 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if _, _, err := clusterCLI(t, "detach", "--data", data, to); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Dir: to})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, _, err := s.Get(t.Context(), "notes", "a"); err != nil || string(v) != "what people saw" {
		t.Errorf("the copy has %q, %v", v, err)
	}
}

// What lets nodes join a cluster is not in a copy for a separate server, nor in what its database has deleted.
func TestDetachedCopyHasNoAuthority(t *testing.T) {
	data := isolate(t)
	n := startAlone(t, data)
	var sealed []byte
	if err := n.state.Store().Each(t.Context(), "cluster-authority", func(_ string, v []byte) error {
		sealed = bytes.Clone(v)
		return nil
	}); err != nil || len(sealed) == 0 {
		t.Fatal("there is no key", err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if _, _, err := clusterCLI(t, "detach", "--data", data, to); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(to, f.Name()))
		if err != nil || bytes.Contains(b, sealed) || bytes.Contains(b, []byte(`"incarnation":`)) {
			t.Errorf("%s has something of the cluster, or %v", f.Name(), err)
		}
	}
}

// Anyone can ask a node for the answer to a challenge. Only for its own names does one that follows wait until that may have come, and
// only for a few at once.
func TestStrangersChallengesDoNotWait(t *testing.T) {
	n := startAlone(t, isolate(t))
	follower := &node{state: n.state, challenges: make(chan struct{}, mostChallenges)} // leads nothing
	follower.cfg.TLS.ACME = []string{"hub.example.com"}
	acme, err := web.NewACME(web.ACMEConfig{Names: follower.cfg.TLS.ACME, Dir: t.TempDir(), Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	acme.Share(acmeDocs{follower}, func() bool { return false })
	ask := func(name string) time.Duration {
		began := time.Now()
		if _, err := acme.TLS().GetCertificate(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{"acme-tls/1"}}); err == nil {
			t.Errorf("there is an answer for %s", name)
		}
		return time.Since(began)
	}
	if took := ask("not.ours.example"); took >= challengeTime {
		t.Errorf("a foreign name waits for %v", took)
	}
	for range mostChallenges {
		follower.challenges <- struct{}{}
	}
	if took := ask("hub.example.com"); took >= challengeTime {
		t.Errorf("one more than may wait waits for %v", took)
	}
	<-follower.challenges
	if took := ask("hub.example.com"); took < challengeTime {
		t.Errorf("an own name does not wait: %v", took)
	}
}

// Without another node that could lead, a hub that cannot write keeps serving, read-only: to end it would interrupt turns for nothing.
func TestReadOnlyLeaderWithoutASuccessorKeepsLeading(t *testing.T) {
	n := startAlone(t, isolate(t))
	hub := n.leading()
	hub.hub.JournalFull(errors.New("the disk is full: free some space"))
	for began := time.Now(); time.Since(began) < 2*readOnlyTime; <-time.After(20 * time.Millisecond) {
		if n.leading() != hub {
			t.Fatal("the hub began again")
		}
	}
}

// The path of a data directory may be longer than that of a socket.
func TestCommandsInALongDataDirectory(t *testing.T) {
	isolate(t)
	data := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	startAlone(t, data)
	if out, _, err := clusterCLI(t, "status", "--data", data); err != nil || !strings.Contains(out, "leader=a") {
		t.Errorf("the status is %q, %v", out, err)
	}
}

// A directory with anything in it does not join: the keys of another cluster would be found out once the token is used.
func TestOnlyEmptyDirectoriesJoin(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "secrets.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := clusterCLI(t, "join", "--data", data, "--address", "127.0.0.1:1", "ahc1.x"); err == nil ||
		!strings.Contains(err.Error(), "already has data") {
		t.Errorf("joining: %v", err)
	}
}

// A handover that is asked for while the hub begins, as by an operator right after a change of leader, does not end the node.
func TestHandoverWhileTheHubBegins(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	n := startNode(t, isolate(t), "a", loopbacktest.Address(t))
	var ask func(handover)
	for began := time.Now(); ask == nil; <-time.After(time.Millisecond) {
		n.mu.Lock()
		ask = n.over
		n.mu.Unlock()
		if time.Since(began) > time.Minute {
			t.Fatal("it never leads")
		}
	}
	done := make(chan error, 1)
	ask(handover{done: done})
	if err := <-done; err == nil || strings.Contains(err.Error(), "stops") {
		t.Errorf("the answer is %v, without another node", err)
	}
	n.await(t, "/leaderz", http.StatusOK)
}
