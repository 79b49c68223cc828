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

// startAlone starts a cluster of one node.
func startAlone(t *testing.T, data string) *testNode {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	n := startNode(t, data, "a", loopbacktest.Address(t))
	n.await(t, "/leaderz", http.StatusOK)
	return n
}

// A node that lost its log but not its database refuses to start: it has forgotten its votes and
// acknowledgments.
func TestRefuseStartWithoutLog(t *testing.T) {
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
		t.Errorf("starting returned %v", err)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// A copy of a stopped node includes the end of its log: people may have seen these entries on other
// nodes.
func TestDetachIncludesEndOfLog(t *testing.T) {
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

// A copy for a separate server contains neither the authority's key nor tokens, not even in deleted
// parts of its database.
func TestDetachExcludesAuthority(t *testing.T) {
	data := isolate(t)
	n := startAlone(t, data)
	var sealed []byte
	if err := n.state.Store().Each(t.Context(), "cluster-authority", func(_ string, v []byte) error {
		sealed = bytes.Clone(v)
		return nil
	}); err != nil || len(sealed) == 0 {
		t.Fatal("the database has no key", err)
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
			t.Errorf("%s contains data of the cluster: %v", f.Name(), err)
		}
	}
}

// Anyone can send a challenge to a node. A follower waits for the answer only for its own names,
// and only a few requests wait at once.
func TestLimitWaitingChallenges(t *testing.T) {
	n := startAlone(t, isolate(t))
	follower := &node{state: n.state, challenges: make(chan struct{}, mostChallenges)} // never leads
	follower.cfg.TLS.ACME = []string{"hub.example.com"}
	acme, err := web.NewACME(web.ACMEConfig{Names: follower.cfg.TLS.ACME, Dir: t.TempDir(), Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	acme.Share(acmeDocs{follower}, func() bool { return false })
	ask := func(name string) time.Duration {
		began := time.Now()
		if _, err := acme.TLS().GetCertificate(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{"acme-tls/1"}}); err == nil {
			t.Errorf("%s has an answer", name)
		}
		return time.Since(began)
	}
	if took := ask("not.ours.example"); took >= challengeTime {
		t.Errorf("a foreign name waited for %v", took)
	}
	for range mostChallenges {
		follower.challenges <- struct{}{}
	}
	if took := ask("hub.example.com"); took >= challengeTime {
		t.Errorf("a request over the limit waited for %v", took)
	}
	<-follower.challenges
	if took := ask("hub.example.com"); took < challengeTime {
		t.Errorf("an own name waited only %v", took)
	}
}

// A leader that cannot write keeps serving, read-only, while no other node can lead: stopping the
// hub would only interrupt turns.
func TestReadOnlyLeaderWithoutSuccessor(t *testing.T) {
	n := startAlone(t, isolate(t))
	hub := n.leading()
	hub.hub.JournalFull(errors.New("the disk is full: free some space"))
	for began := time.Now(); time.Since(began) < 2*readOnlyTime; <-time.After(20 * time.Millisecond) {
		if n.leading() != hub {
			t.Fatal("the hub restarted")
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

// A handover requested while the hub starts, for example by an operator right after a change of
// leader, does not stop the node.
func TestHandoverDuringHubStart(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	n := startNode(t, isolate(t), "a", loopbacktest.Address(t))
	var ask func(handover)
	for began := time.Now(); ask == nil; <-time.After(time.Millisecond) {
		n.mu.Lock()
		ask = n.requestHandover
		n.mu.Unlock()
		if time.Since(began) > time.Minute {
			t.Fatal("the node never led")
		}
	}
	done := make(chan error, 1)
	ask(handover{done: done})
	if err := <-done; err == nil || strings.Contains(err.Error(), "stops") {
		t.Errorf("without another node, the answer is %v", err)
	}
	n.await(t, "/leaderz", http.StatusOK)
}
