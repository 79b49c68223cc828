package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/mcp/dial"
)

func TestMain(m *testing.M) {
	if os.Getenv("BRIDGE_TEST") != "" { // the bridge as a process: TestBridgeAsAProcess
		err := Bridge{URL: os.Getenv(EnvURL), Token: os.Getenv(EnvToken), In: os.Stdin,
			Out: os.Stdout}.Run(context.Background())
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if how := os.Getenv(outsideEnv); how != "" { // an MCP server as a process
		runOutside(how)
	}
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

var ana = access.Owner("Ana")

// worker is an agent whose turns last until the test ends them.
type worker struct {
	mu     sync.Mutex
	specs  map[ahp.URI]agent.Spec
	turns  chan agent.Turn
	end    chan struct{}
	closed atomic.Int64
}

func (a *worker) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{DisplayName: "Worker"}, nil
}
func (a *worker) Config() ahp.SessionConfigSchema { return ahp.SessionConfigSchema{} }
func (a *worker) UsesTools() bool                 { return true }
func (a *worker) Close() error                    { a.closed.Add(1); return nil }

func (a *worker) Open(_ context.Context, s agent.Spec) (agent.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.specs[s.Session] = s
	return a, nil
}

func (a *worker) Prompt(ctx context.Context, t agent.Turn) error {
	a.turns <- t
	select {
	case <-a.end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *worker) spec(session ahp.URI) (agent.Spec, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.specs[session]
	return s, ok
}

// world is a host with its endpoint over real HTTP.
type world struct {
	testing.TB
	hub    *hub.Hub
	host   *host.Host
	tools  *Server
	agent  *worker
	dir    string
	log    *lockedBuffer
	server *httptest.Server
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t testing.TB, limits Limits) *world {
	t.Helper()
	w := &world{TB: t, dir: repository(t), log: &lockedBuffer{},
		agent: &worker{specs: map[ahp.URI]agent.Spec{}, turns: make(chan agent.Turn, 8), end: make(chan struct{}, 8)}}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.hub = hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) { w.host.Derive(tx, e) }})
	var err error
	mux := http.NewServeMux()
	w.server = httptest.NewServer(mux)
	data := t.TempDir()
	w.host, err = host.New(host.Config{Hub: w.hub, Home: t.TempDir(),
		Machine: localtest.New(t, data, local.WithCustoms(custom.NewLibrary(custom.Limits{}, log),
			dial.Dialer{Version: "test"})),
		Agents: localtest.ReachAgents(w.TB, map[string]agent.Backend{"worker": w.agent}), DataDir: data, DefaultDir: w.dir,
		ToolServers: Reach(w.server.URL, os.Args[0]), Log: log})
	w.must(err)
	w.tools = New(Config{Host: w.host, Version: "test", Log: log, Limits: limits})
	mux.Handle(Path, w.tools)
	stop := hosttest.Run(t, w.host)
	t.Cleanup(func() {
		stop()
		w.tools.Close()
		w.server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return w
}

// repository returns a directory with a file of ten lines, under git.
func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n")
	write(t, filepath.Join(dir, "gone.txt"), "old\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	hosttest.Must(w, err)
}

// until waits for a condition.
func (w *world) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			w.Fatalf("%s does not happen\n%s", what, w.log)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// open creates a session and returns how its agent reaches the host.
func (w *world) open(session ahp.URI) agent.MCPServer {
	w.Helper()
	w.must(w.host.CreateSession(w.Context(), core.Caller{Principal: ana, ClientID: "ana"},
		ahp.CreateSessionParams{Channel: session}))
	w.must(w.host.Keep(session)) // so that its agent is opened
	var spec agent.Spec
	w.until("the agent opens", func() (ok bool) { spec, ok = w.agent.spec(session); return ok })
	if len(spec.MCP) != 1 {
		w.Fatalf("the agent was given %v", spec.MCP)
	}
	return spec.MCP[0]
}

// connect connects an agent's MCP client.
func (w *world) connect(s agent.MCPServer, opts *mcp.ClientOptions) *mcp.ClientSession {
	w.Helper()
	c, err := w.tryConnect(s.URL, s.Headers["Authorization"], opts)
	w.must(err)
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *world) tryConnect(url, authorization string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	token := strings.TrimPrefix(authorization, "Bearer ")
	return client.Connect(w.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer{http.DefaultTransport, token, func() {}}}}, nil)
}

// call returns a tool's answer, and whether it is a failure.
func (w *world) call(c *mcp.ClientSession, tool string, args any) (text string, failed bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	w.must(err)
	for _, part := range res.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, res.IsError
}

func (w *world) ok(c *mcp.ClientSession, tool string, args any) string {
	w.Helper()
	text, failed := w.call(c, tool, args)
	if failed {
		w.Fatalf("%s failed: %s\n%s", tool, text, w.log)
	}
	return text
}

func (w *world) fails(c *mcp.ClientSession, tool string, args any, says string) {
	w.Helper()
	if text, failed := w.call(c, tool, args); !failed || !strings.Contains(text, says) {
		w.Errorf("%s %v: failed %t, said %q, want a failure that says %q", tool, args, failed, text, says)
	}
}

func (w *world) names(c *mcp.ClientSession) (names []string) {
	w.Helper()
	for t, err := range c.Tools(w.Context(), nil) {
		w.must(err)
		names = append(names, t.Name)
	}
	return names
}

func (w *world) threads(session ahp.URI) []ahp.Annotation {
	st, _ := hub.StateOf[*ahp.AnnotationsState](w.hub, session+"/annotations")
	return st.Annotations
}

func (w *world) session(uri ahp.URI) *ahp.SessionState {
	st, _ := hub.StateOf[*ahp.SessionState](w.hub, uri)
	return st
}

// do dispatches an action as a principal.
func (w *world) do(c core.Caller, channel ahp.URI, a ahp.Action) {
	w.Helper()
	out, err := w.host.Dispatch(w.Context(), c, channel, 1, a)
	if err != nil || out.Rejected != "" || out.Unknown {
		w.Fatalf("%s: %v %+v", a.ActionType(), err, out)
	}
}

func (w *world) comment(session ahp.URI, file string, line int64, text string) (id string) {
	w.Helper()
	id = "thread-" + file + text
	own, _ := json.Marshal(map[string]string{"side": "after", "hunk": "three"})
	w.do(core.Caller{Principal: ana, ClientID: "ana"}, session+"/annotations",
		&ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: id,
			Resource: core.FileURI(filepath.Join(w.dir, file)), Origin: ahp.AnnotationOrigin{Session: session},
			Range:   &ahp.TextRange{Start: ahp.TextPosition{Line: line - 1}, End: ahp.TextPosition{Line: line - 1}},
			Entries: []ahp.AnnotationEntry{{ID: "e" + id, Text: ahp.Markdown(text), Meta: ahp.Meta{"ahphub": own}}}}})
	return id
}

func (w *world) say(session ahp.URI, turn string) agent.Turn {
	w.Helper()
	w.do(core.Caller{Principal: ana, ClientID: "ana"}, w.session(session).DefaultChat,
		&ahp.ChatTurnStartedAction{TurnID: turn,
			Message: ahp.Message{Text: "go", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	select {
	case t := <-w.agent.turns:
		return t
	case <-time.After(patience):
		w.Fatal("the turn does not reach the agent")
		return agent.Turn{}
	}
}
