package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
	"github.com/ahphub/ahphub/hub/secret"
)

// A node's backup can start a new cluster, with or without the key of secrets.
func TestStartClusterFromBackup(t *testing.T) {
	data := isolate(t)
	createSession(t, data)
	n := startNode(t, data, "a", loopbacktest.Address(t))
	n.await(t, "/leaderz", http.StatusOK)
	backup := filepath.Join(t.TempDir(), "backup.db")
	b := backupCommand{Data: data, Path: backup}
	if err := b.Run(&environment{t.Context(), io.Discard, io.Discard}); err != nil {
		t.Fatal(err)
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{{backup: "ahphub.db", filepath.Join(data, secret.KeyFile): secret.KeyFile}, {backup: "ahphub.db"}} {
		to := t.TempDir()
		for from, name := range files {
			b, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(to, name), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		first := startNode(t, to, "x", loopbacktest.Address(t))
		first.await(t, "/leaderz", http.StatusOK)
		second := joinNode(t, first, "y")
		second.await(t, "/readyz", http.StatusOK)
		second.jar = jar
		second.signIn(t)
		second.hasSession(t)
		members, err := peers.ReadMembers(t.Context(), first.state.Store())
		if err != nil || len(members) != 2 {
			t.Errorf("the members are %v, %v", members, err)
		}
		was, err := os.ReadFile(filepath.Join(data, "token"))
		is, err2 := os.ReadFile(filepath.Join(to, "token"))
		if err := errors.Join(err, err2); err != nil || bytes.Equal(was, is) != (len(files) == 2) {
			t.Errorf("with %d files restored, the owner's token is kept: %v, %v", len(files), bytes.Equal(was, is), err)
		}
	}
}
