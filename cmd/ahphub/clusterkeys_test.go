package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/secret"
)

// The key of secrets is rotated on every node or on none, and the next leader can decrypt
// everything.
func TestRotateClusterKey(t *testing.T) {
	a, b, c := startThree(t)
	b.await(t, "/readyz", http.StatusOK)
	s := a.leading().secrets
	err := s.Put(t.Context(), "owner", "TOKEN", "ghp_0123456789", false)
	if err := errors.Join(err, s.Grant(t.Context(), "owner", "TOKEN", nil, []string{"/src"})); err != nil {
		t.Fatal(err)
	}
	rotate := func(n *testNode) error {
		c := secretsRotateCommand{secretsServer{n.cfg.Data}}
		return c.Run(&environment{t.Context(), io.Discard, io.Discard})
	}
	old := keyFile(t, a)
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	if err := rotate(b); err == nil || !strings.Contains(err.Error(), "node c did not answer") {
		t.Errorf("without a node: %v", err)
	}
	if got := keyFile(t, a); got != old {
		t.Error("the key changed while a node was down")
	}
	c = startNode(t, c.cfg.Data, "", "")
	c.await(t, "/readyz", http.StatusOK)
	if err := rotate(b); err != nil {
		t.Fatal(err)
	}
	fresh := keyFile(t, a)
	if fresh == old || strings.Contains(fresh, keyLine(old)) || keyFile(t, b) != fresh || keyFile(t, c) != fresh {
		t.Error("not every node has exactly the new key")
	}
	data := a.cfg.Data
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*testNode{b, c} {
		n.await(t, "/readyz", http.StatusOK)
	}
	now := awaitLeader(t, b, c)
	list, err := now.leading().secrets.For("ahp-session:/1", []string{"/src"})
	if err != nil || len(list) != 1 || list[0].Value != "ghp_0123456789" {
		t.Errorf("the next leader has %d secrets: %v", len(list), err)
	}
	if err := rotate(now); err == nil || !strings.Contains(err.Error(), "node a did not answer") {
		t.Errorf("without the former leader: %v", err)
	}
	a = startNode(t, data, "", "") // with only the new key
	a.await(t, "/readyz", http.StatusOK)
	if err := rotate(a); err != nil {
		t.Error(err)
	}
	for _, n := range []*testNode{a, b, c} {
		checkAbsent(t, n.cfg.Data, keyLine(fresh))
	}
}

// awaitLeader waits until one of the nodes leads.
func awaitLeader(t *testing.T, nodes ...*testNode) *testNode {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; <-time.After(20 * time.Millisecond) {
		for _, n := range nodes {
			if n.leading() != nil {
				return n
			}
		}
	}
	t.Fatal("no node leads")
	return nil
}

func keyFile(t *testing.T, n *testNode) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(n.cfg.Data, secret.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// keyLine returns the first key of a file.
func keyLine(file string) string {
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "#") {
			return strings.TrimSpace(line)
		}
	}
	return "no key"
}

// checkAbsent checks that text occurs only in the key file of a data directory.
func checkAbsent(t *testing.T, data, text string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == secret.KeyFile {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) || bytes.Contains(b, raw) {
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
