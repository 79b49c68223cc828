package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (w *world) post(s agent.MCPServer, authorization, session string) int {
	w.Helper()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	req, err := http.NewRequestWithContext(w.Context(), "POST", s.URL, body)
	w.must(err)
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// A token ends with its session, and its connections are closed.
func TestTokensEndWithTheirSession(t *testing.T) {
	w := newWorld(t, Limits{})
	a, b := w.open(one), w.open(two)
	ca, cb := w.connect(a, nil), w.connect(b, nil)
	if code := w.post(b, b.Headers["Authorization"], ca.ID()); code != 404 {
		t.Errorf("two goes on with one's connection: %d", code)
	}
	if code := w.post(a, "Bearer wrong", ""); code != 403 {
		t.Errorf("a wrong token: %d", code)
	}
	w.do(client("vs-1"), one, offers("vs-1", "Editor", "open_file"))
	w.until("the client's tool", func() bool { return slices.Contains(w.names(ca), "open_file") })
	w.say(one, "t1")
	pending := w.calling(ca, "open_file", nil)
	w.clientsCall(one)

	w.must(w.host.DisposeSession(t.Context(), client("ana"), ahp.DisposeSessionParams{Channel: one}))
	if got := <-pending; !got.failed {
		t.Errorf("a call in a session that was disposed: %+v", got)
	}
	w.until("the agent to be sent away", func() bool { return w.post(a, a.Headers["Authorization"], "") == 403 })
	w.until("its connection to end", func() bool {
		_, err := ca.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_comments"})
		return err != nil
	})
	if w.tools.Knows(strings.TrimPrefix(a.Headers["Authorization"], "Bearer ")) {
		t.Error("the token is still known")
	}
	w.ok(cb, "list_comments", nil) // the other session continues
}

// Only the agent has the token: it is not in a log, visible to clients, or in the store.
func TestTokensAreNotStored(t *testing.T) {
	w := newWorld(t, Limits{})
	s := w.open(one)
	c := w.connect(s, nil)
	w.ok(c, "add_comment", map[string]any{"file": "a.txt", "line": 1, "text": "x"})
	w.fails(c, "get_comment", map[string]any{"id": "x"}, "no comment")
	w.say(one, "t1")
	token := strings.TrimPrefix(s.Headers["Authorization"], "Bearer ")
	var seen strings.Builder
	for _, uri := range []ahp.URI{ahp.RootURI, one, one + "/annotations", w.session(one).DefaultChat} {
		st, _, _ := w.hub.State(uri)
		raw, err := json.Marshal(st)
		w.must(err)
		seen.Write(raw)
	}
	seen.WriteString(w.log.String())
	if strings.Contains(seen.String(), token) {
		t.Error("the token can be read")
	}
	if !strings.Contains(seen.String(), "a.txt") || len(token) < 40 {
		t.Error("nothing was looked at")
	}
}

func TestOldestConnectionIsClosed(t *testing.T) {
	w := newWorld(t, Limits{Connections: 2})
	s := w.open(one)
	first := w.connect(s, nil)
	for range 2 {
		w.ok(w.connect(s, nil), "list_comments", nil)
	}
	if _, err := first.ListTools(t.Context(), nil); err == nil {
		t.Error("the first of three connections is still there")
	}
}

// bridge starts this test's own binary as the bridge.
func (w *world) bridge(env ...string) (*mcp.ClientSession, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "BRIDGE_TEST=1")...)
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	return client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
}

func TestBridgeProcess(t *testing.T) {
	w := newWorld(t, Limits{})
	s := w.open(one)
	c, err := w.bridge(s.Env...)
	w.must(err)
	defer c.Close()
	if c.InitializeResult().Instructions != instructions {
		t.Error("what a model is told is lost on the way")
	}
	id := w.comment(one, "a.txt", 3, "Why?")
	if got := w.ok(c, "list_comments", nil); !strings.Contains(got, id) {
		t.Errorf("the list is %s", got)
	}
	w.ok(c, "reply_to_comment", map[string]any{"id": id, "text": "Over a bridge."})
	if by, _ := core.ReadStamp(w.threads(one)[0].Entries[1].Meta); by.By.ID != "agent:worker" {
		t.Errorf("answered by %+v", by)
	}
	w.fails(c, "get_comment", map[string]any{"id": "none"}, "no comment with this id")
	w.do(client("vs-1"), one, offers("vs-1", "Editor", "open_file"))
	w.until("a client's tool over the bridge", func() bool { return slices.Contains(w.names(c), "open_file") })
	w.host.Unsubscribed(client("vs-1"), one)
	w.until("it to go", func() bool { return !slices.Contains(w.names(c), "open_file") })

	w.must(w.host.DisposeSession(t.Context(), client("ana"), ahp.DisposeSessionParams{Channel: one}))
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the bridge stays when the session is over")
	}
}

// overBridge connects an agent's client to a bridge of this process.
func (w *world) overBridge(s agent.MCPServer, opts *mcp.ClientOptions) (c *mcp.ClientSession, ended <-chan error) {
	w.Helper()
	in, typed := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		token := strings.TrimPrefix(s.Headers["Authorization"], "Bearer ")
		done <- Bridge{URL: s.URL, Token: token, In: in, Out: out}.Run(w.Context())
	}()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, opts).Connect(w.Context(),
		&mcp.IOTransport{Reader: read, Writer: typed}, nil)
	w.must(err)
	w.Cleanup(func() { c.Close() })
	return c, done
}

// When the host ends, so does a bridge that an agent left running.
func TestBridgeEndsWithHost(t *testing.T) {
	w := newWorld(t, Limits{})
	s := w.open(one)
	c, ended := w.overBridge(s, nil)
	w.ok(c, "list_comments", nil)
	w.server.CloseClientConnections()
	w.server.Listener.Close()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "the server at "+s.URL) {
			t.Errorf("the bridge ends with %v", err)
		}
	case <-time.After(patience):
		t.Error("the bridge stays")
	}
}

func TestBridgeErrors(t *testing.T) {
	w := newWorld(t, Limits{})
	s := w.open(one)
	for says, env := range map[string][]string{
		"are not set":                 {EnvURL + "=", EnvToken + "="},
		"Use an address such as http": {EnvURL + "=localhost", EnvToken + "=x"},
		"session has ended":           {EnvURL + "=" + s.URL, EnvToken + "=wrong"},
		"does not answer":             {EnvURL + "=http://127.0.0.1:1/mcp", EnvToken + "=x"},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), append(env, "BRIDGE_TEST=1")...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%v: %v %q", env, err, out)
		}
	}
}
