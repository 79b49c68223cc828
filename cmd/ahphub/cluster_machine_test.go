package main

import (
	"context"
	"crypto/ed25519"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/loopback/loopbacktest"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machines"
)

// A node's computer can also be a machine: it joins through its own node, and its sessions continue
// when another node leads.
func TestNodeAsMachine(t *testing.T) {
	data := isolate(t)
	a := startNode(t, data, "a", loopbacktest.Address(t))
	a.await(t, "/leaderz", http.StatusOK)
	b, c := joinNode(t, a, "b"), joinNode(t, a, "c")
	for _, n := range []*testNode{b, c} {
		n.await(t, "/readyz", http.StatusOK)
	}
	a.awaitVoters(t, 3)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.jar, b.jar, c.jar = jar, jar, jar
	b.signIn(t)
	dir := t.TempDir()
	b.becomeMachine(t, dir)

	_, machines, _ := strings.Cut(b.until(t, "/new", "<b>n2</b>"), "<b>This server</b>")
	machine := textOf(t, machines, `name="machine" value="`, `"`)
	provider := textOf(t, b.until(t, "/new?machine="+machine, "Shell on n2"), `name="agent" value="`, `"`)
	at := b.post(t, "/new", url.Values{"machine": {machine}, "agent": {provider}, "dir": {dir},
		"config." + agent.ApprovalKey: {agent.ApprovalAuto}, "message": {"echo it runs in $(basename $PWD) > made.txt; cat made.txt"}})
	page := c.until(t, at, "it runs in "+filepath.Base(dir))
	if err := a.transfer(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "/leaderz", http.StatusOK)
	c.until(t, "/machines", "Online")
	chat := at + "/c/" + textOf(t, page, at+"/c/", "#")
	a.post(t, chat+"/message", url.Values{"text": {"echo it goes on, $(wc -w < made.txt) words"}})
	a.until(t, at, "it goes on, 4 words")
	b.until(t, at+"/changes", "made.txt")
}

// becomeMachine joins a node's computer as a machine, through the node itself.
func (n *testNode) becomeMachine(t *testing.T, dir string) {
	t.Helper()
	at, err := url.Parse(n.url)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: n.jar}
	res, err := client.PostForm(n.url+"/machines/tokens", nil)
	if err != nil {
		t.Fatal(err)
	}
	invite, err := machines.ParseInvite("ahj1." + textOf(t, bodyOf(t, res), "--token ahj1.", `"`))
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	m := &joined{request: join.Request{Hub: at, HubKey: invite.Hub, Invite: &invite, Key: key, Name: "n2"},
		path: filepath.Join(own, "machine", "id.json"), stdout: new(strings.Builder), stderr: new(strings.Builder),
		data: own, dirs: []string{dir}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer m.close()
		_ = m.keep(ctx) // returns when ctx is canceled
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// until reads a page until it contains text, and returns it.
func (n *testNode) until(t *testing.T, path, text string) string {
	t.Helper()
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		status, page := n.get(t, path)
		if status == http.StatusOK && strings.Contains(page, text) {
			return page
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%s%s answered %d without %q: %s", n.url, path, status, text, page)
		}
	}
}

// post submits a form and returns the path of the redirect.
func (n *testNode) post(t *testing.T, path string, form url.Values) string {
	t.Helper()
	client := http.Client{Jar: n.jar}
	res, err := client.PostForm(n.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	if page := bodyOf(t, res); res.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %d: %.1000s", path, res.StatusCode, page)
	}
	return res.Request.URL.Path
}

// bodyOf returns the body of a response.
func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
