package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
)

// clusterCLI runs an ahphub command and returns its output.
func clusterCLI(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, warn bytes.Buffer
	err = command(t.Context(), append([]string{"cluster"}, args...), &out, &warn)
	return out.String(), warn.String(), err
}

// With the commands of ahphub cluster, a second node joins, leads and is removed.
func TestClusterCommands(t *testing.T) {
	data := isolate(t)
	defer http.DefaultClient.CloseIdleConnections()
	_, _, err := clusterCLI(t, "status", "--data", data)
	if err == nil || !strings.Contains(err.Error(), "does not belong to a cluster") {
		t.Errorf("without a cluster: %v", err)
	}
	a := startNode(t, data, "a", loopbacktest.Address(t))
	a.await(t, "/leaderz", http.StatusOK)
	if info, err := os.Stat(manage.SocketPath(data)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode: %v, %v", info, err)
	}
	if _, _, err := clusterCLI(t, "token", "--data", data, "--ttl", "soon"); err == nil || !strings.Contains(err.Error(), "30m") {
		t.Errorf("a token with an invalid TTL: %v", err)
	}
	out, _, err := clusterCLI(t, "token", "--data", data)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(strings.TrimPrefix(out, "token="))
	other := filepath.Join(t.TempDir(), "data")
	if _, _, err := clusterCLI(t, "join", "--data", data, "--address", "127.0.0.1:9", token); err == nil ||
		!strings.Contains(err.Error(), "already has data") {
		t.Errorf("joining with a directory that is in use: %v", err)
	}
	if _, _, err := clusterCLI(t, "join", "--data", other, token); err == nil || !strings.Contains(err.Error(), "--address") {
		t.Errorf("without an address: %v", err)
	}
	out, warning, err := clusterCLI(t, "join", "--data", other, "--name", "b", "--address", loopbacktest.Address(t), token)
	if err != nil || !strings.Contains(out, "serve --cluster") || !strings.Contains(warning, "Two nodes cannot fail over") {
		t.Fatalf("join printed %q, %q, %v", out, warning, err)
	}
	b := startNode(t, other, "", "")
	a.awaitVoters(t, 2)
	out, _, err = clusterCLI(t, "status", "--data", other, "--json")
	var s manage.Status
	if err != nil || json.Unmarshal([]byte(out), &s) != nil || s.Leader != "a" || len(s.Nodes) != 2 || s.Tolerates != 0 {
		t.Errorf("the status is %s, %v", out, err)
	}
	if out, _, err = clusterCLI(t, "transfer", "--data", data); err != nil || out != "leader=b\n" {
		t.Errorf("transfer printed %q, %v", out, err)
	}
	b.await(t, "/leaderz", http.StatusOK)
	if out, _, err = clusterCLI(t, "status", "--data", data); err != nil || !strings.Contains(out, "leads") {
		t.Errorf("the status is %q, %v", out, err)
	}
	out, _, err = clusterCLI(t, "leave", "--data", other)
	if err != nil || !strings.Contains(out, "no longer a node of the cluster") {
		t.Errorf("leave printed %q, %v", out, err)
	}
	if err := b.ends(); !errors.Is(err, errRemoved) {
		t.Errorf("the node that left exited with %v", err)
	}
	if err := startNode(t, other, "", "").ends(); !errors.Is(err, errRemoved) || exitStatus(err) != 78 {
		t.Errorf("after a restart, it exited with %v", err)
	}
	a.await(t, "/leaderz", http.StatusOK)
	if out, _, err = clusterCLI(t, "status", "--data", data, "--json"); err != nil || strings.Contains(out, `"b"`) {
		t.Errorf("after b left the status is %s, %v", out, err)
	}
	detached := filepath.Join(t.TempDir(), "detached")
	if out, _, err = clusterCLI(t, "detach", "--data", data, detached); err != nil || !strings.Contains(out, detached) {
		t.Errorf("detach printed %q, %v", out, err)
	}
	_, _, err = clusterCLI(t, "status", "--data", detached)
	if err == nil || !strings.Contains(err.Error(), "does not belong to a cluster") {
		t.Errorf("the copy belongs to a cluster: %v", err)
	}
}
