package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/door"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
)

// opener records the specs of its sessions.
type opener struct {
	agent.Backend
	mu    sync.Mutex
	specs map[ahp.URI]agent.Spec
}

func (o *opener) Open(_ context.Context, spec agent.Spec) (agent.Session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.specs[spec.Session] = spec
	return idle{}, nil
}

type idle struct{ agent.Session }

func (idle) Close() error { return nil }

// watchedDoor records the dial function of each session, as a hostile machine could.
type watchedDoor struct {
	*door.Door
	mu    sync.Mutex
	dials []func(context.Context) (net.Conn, error)
}

func (d *watchedDoor) Add(ctx context.Context, servers []agent.MCPServer,
	dial func(context.Context) (net.Conn, error)) ([]agent.MCPServer, error) {
	d.mu.Lock()
	d.dials = append(d.dials, dial)
	d.mu.Unlock()
	return d.Door.Add(ctx, servers, dial)
}

// toolsWorld is a hub with tools and a machine whose agents use them.
type toolsWorld struct {
	hub    *remote.Machine
	agents *opener
	door   *watchedDoor
	cut    func() // ends the connection; another one follows
}

func newToolsWorld(t *testing.T, tools http.HandlerFunc) *toolsWorld {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	opened, err := door.Open(door.Config{Log: log, Reach: func(base, token string) agent.MCPServer {
		return agent.MCPServer{URL: base + "/mcp", Headers: map[string]string{"Authorization": "Bearer " + token}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &toolsWorld{agents: &opener{specs: map[ahp.URI]agent.Spec{}}, door: &watchedDoor{Door: opened}}
	far := remote.NewServer(local.New(local.WithAgents(map[string]agent.Backend{"a": w.agents})),
		remote.Config{Log: log, Door: w.door})
	w.hub = remote.New(remote.Config{Log: log, Tools: tools})
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	connect := func() net.Conn {
		a, b := net.Pipe()
		serving.Go(func() { _ = far.Serve(ctx, b) }) // ends with ctx
		serving.Go(func() { _ = w.hub.Serve(ctx, a) })
		return a
	}
	conn := connect()
	w.cut = func() { conn.Close(); conn = connect() }
	t.Cleanup(func() { w.hub.Close(); cancel(); serving.Wait(); far.Close(); opened.Close() })
	if err := w.hub.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// open opens a session with a token for the hub's tools, and returns how its agent reaches them.
func (w *toolsWorld) open(t *testing.T, name string) (agent.MCPServer, agent.Session) {
	t.Helper()
	s, err := w.hub.Agents()["a"].Open(t.Context(), agent.Spec{Session: ahp.URI("ahp-session:/" + name),
		MCP: []agent.MCPServer{{Name: "ahphub", URL: "http://127.0.0.1:1/of-the-hub", Command: []string{"/of/the/hub"},
			Headers: map[string]string{"Authorization": "Bearer token-" + name}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.agents.mu.Lock()
	defer w.agents.mu.Unlock()
	servers := w.agents.specs[ahp.URI("ahp-session:/"+name)].MCP
	if len(servers) != 1 || servers[0].Name != "ahphub" || strings.Contains(fmt.Sprint(servers[0].URL, servers[0].Command), "of") {
		t.Fatalf("the agent has %+v", servers)
	}
	return servers[0], s
}

// ask sends a request to a server, as an agent does.
func ask(t *testing.T, s agent.MCPServer, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(got)
}

func echoTools(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Header.Get("Authorization"), r.URL.Path, body)
}

// An agent on a machine uses the hub's tools with its token until its session ends, even after a reconnect.
func TestAgentOnMachineUsesTheHubsTools(t *testing.T) {
	w := newToolsWorld(t, echoTools)
	server, session := w.open(t, "one")
	long := strings.Repeat("x", 200_000)
	for range 2 {
		if code, got := ask(t, server, server.Headers["Authorization"], long); code != http.StatusOK ||
			got != "Bearer token-one /mcp "+long {
			t.Fatalf("%d, %.60q", code, got)
		}
		w.cut()
		waitOnline(t, w)
	}
	for _, token := range []string{"", "Bearer token-two", "token-one"} {
		if code, _ := ask(t, server, token, ""); code != http.StatusForbidden {
			t.Errorf("with %q: %d", token, code)
		}
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if code, _ := ask(t, server, server.Headers["Authorization"], ""); code == http.StatusForbidden {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the tools outlive the session")
		}
	}
	if conn, err := w.door.dials[0](t.Context()); err == nil {
		conn.Close()
		t.Error("the hub takes a connection of a session that has ended")
	}
}

// waitOnline waits until both ends use a new connection.
func waitOnline(t *testing.T, w *toolsWorld) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		conn, err := w.door.dials[0](t.Context())
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A compromised machine uses the token of one session over the connections of another. It is refused, and so are more
// connections than a session may have.
func TestMachineCannotUseToolsOfAnotherSession(t *testing.T) {
	w := newToolsWorld(t, echoTools)
	w.open(t, "one")
	w.open(t, "two")
	get := func(dial func(context.Context) (net.Conn, error), token string) int {
		conn, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if code := get(w.door.dials[0], "token-one"); code != http.StatusOK {
		t.Errorf("its own token: %d", code)
	}
	if code := get(w.door.dials[0], "token-two"); code != http.StatusForbidden {
		t.Errorf("another session's token: %d", code)
	}
	open, refused := 0, error(nil)
	for open < 100 && refused == nil {
		conn, err := w.door.dials[1](t.Context())
		if err != nil {
			refused = err
			break
		}
		open++
		defer conn.Close()
	}
	if refused == nil || !strings.Contains(refused.Error(), "too many") || open < 4 {
		t.Errorf("after %d connections: %v", open, refused)
	}
}
