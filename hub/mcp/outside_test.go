package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host"
)

// The tests' MCP server is this program, started with outsideEnv.
const outsideEnv = "OUTSIDE_TEST"

type echoIn struct {
	Text string `json:"text"`
}

// outsideServer has a tool that echoes, one that tells the environment, one that adds another, a resource and a prompt.
func outsideServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "outside", Version: "1"}, nil)
	say := func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
		return say("echo " + in.Text)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "environment"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
		return say(os.Getenv(in.Text))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "more"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say("more")
		})
		return say("grown")
	})
	s.AddResource(&mcp.Resource{URI: "test:/one", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:/one", Text: "the resource"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "ask"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "the prompt"}}}}, nil
	})
	return s
}

// runOutside is the server as a program. It notes its process id, and that of a program it started, for the tests.
func runOutside(how string) {
	if file := os.Getenv("OUTSIDE_PID"); file != "" {
		child := exec.Command("sleep", "300")
		if child.Start() != nil {
			os.Exit(3)
		}
		_ = os.WriteFile(file+".new", fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
		_ = os.Rename(file+".new", file)
	}
	switch how {
	case "fails":
		os.Stderr.WriteString("no licence found")
		os.Exit(7)
	case "mute": // starts, and says nothing until its file is there
		for {
			if _, err := os.Stat(os.Getenv("OUTSIDE_GO")); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "babbles":
		os.Stdout.WriteString("Welcome!\n")
	}
	_ = outsideServer().Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

// declare writes the servers of the world's directory.
func (w *world) declare(servers map[string]any) {
	w.Helper()
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	w.must(err)
	w.must(os.WriteFile(filepath.Join(w.dir, ".mcp.json"), raw, 0o600))
}

func started(env ...string) map[string]any {
	set := map[string]string{}
	for i := 0; i+1 < len(env); i += 2 {
		set[env[i]] = env[i+1]
	}
	if set[outsideEnv] == "" {
		set[outsideEnv] = "yes"
	}
	return map[string]any{"command": os.Args[0], "env": set}
}

const outside ahp.URI = "ahp-session:/outside"

var anasClient = host.Caller{Principal: ana, ClientID: "ana"}

// outsideWorld has a session in a directory that declares servers.
func outsideWorld(t *testing.T, servers map[string]any) *world {
	w := newWorld(t, Limits{})
	w.declare(servers)
	w.must(w.host.CreateSession(w.Context(), anasClient, ahp.CreateSessionParams{Channel: outside}))
	w.until("the agent opens", func() bool { _, ok := w.agent.spec(outside); return ok })
	return w
}

// listed is a server of the session's tree.
func (w *world) listed(name string) *ahp.McpServerCustomization {
	for _, c := range w.session(outside).Customizations {
		if m, ok := c.Value.(*ahp.McpServerCustomization); ok && m.Name == name {
			return m
		}
	}
	return nil
}

// state is a server's state as a word, with what went wrong.
func (w *world) state(name string) string {
	m := w.listed(name)
	if m == nil {
		return "absent"
	}
	switch s := m.State.Value.(type) {
	case *ahp.McpServerStartingState:
		return "starting"
	case *ahp.McpServerReadyState:
		return "ready"
	case *ahp.McpServerStoppedState:
		return "stopped"
	case *ahp.McpServerAuthRequiredState:
		return "authRequired " + string(s.Reason) + " " + s.Resource.Resource
	case *ahp.McpServerErrorState:
		return "error " + s.Error.Message
	}
	return "?"
}

func (w *world) untilState(name, begins string) {
	w.Helper()
	w.until(name+" "+begins, func() bool { return strings.HasPrefix(w.state(name), begins) })
}

// act dispatches as the owner and returns why not.
func (w *world) act(a ahp.Action) string {
	w.Helper()
	out, err := w.host.Dispatch(w.Context(), anasClient, outside, 0, a)
	w.must(err)
	if out.Unknown {
		return "unknown"
	}
	return out.Rejected
}

func (w *world) trust(name string) {
	w.Helper()
	m := w.listed(name)
	w.must(w.host.TrustServer(w.Context(), anasClient, outside, m.ID, w.host.ServerDetails(true, outside)[m.ID].Digest))
}

func (w *world) start(name string) string {
	w.Helper()
	return w.act(&ahp.SessionMcpServerStartRequestedAction{ID: w.listed(name).ID})
}

// running trusts and starts a server, and waits for it.
func (w *world) running(name string) {
	w.Helper()
	w.trust(name)
	if reason := w.start(name); reason != "" {
		w.Fatal(reason)
	}
	w.untilState(name, "ready")
}

// given is how the agent was told to reach a server.
func (w *world) given(name string) (agent.MCPServer, bool) {
	spec, _ := w.agent.spec(outside)
	i := slices.IndexFunc(spec.MCP, func(m agent.MCPServer) bool { return m.Name == name })
	if i < 0 {
		return agent.MCPServer{}, false
	}
	return spec.MCP[i], true
}

// prompted has the agent answer a message, which opens it anew when it is to be.
func (w *world) prompted() {
	w.Helper()
	chat := w.session(outside).DefaultChat
	out, err := w.host.Dispatch(w.Context(), anasClient, chat, 0, &ahp.ChatTurnStartedAction{TurnID: fmt.Sprint(time.Now().UnixNano()),
		Message: ahp.Message{Text: "go", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	w.must(err)
	if out.Rejected != "" {
		w.Fatal(out.Rejected)
	}
	<-w.agent.turns
	w.agent.end <- struct{}{}
	w.until("the turn ends", func() bool {
		st, _, _ := w.hub.State(chat)
		return st.(*ahp.ChatState).ActiveTurn == nil
	})
}

func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }

func (w *world) pids(file string) (list []int) {
	w.Helper()
	w.until("the server notes its process", func() bool { _, err := os.Stat(file); return err == nil })
	raw, err := os.ReadFile(file)
	w.must(err)
	for _, f := range strings.Fields(string(raw)) {
		n, err := strconv.Atoi(f)
		w.must(err)
		list = append(list, n)
	}
	return list
}

// A repository that was checked out starts nothing by itself, and no client starts it either. How it is started is the
// owner's to see (AHP requirement 151).
func TestAServerOfARepositoryRunsOnlyOnceTrusted(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	w := outsideWorld(t, map[string]any{"files": started("OUTSIDE_PID", pid)})
	if w.state("files") != "stopped" || string(w.listed("files").Meta["ahphub/untrusted"]) != "true" {
		t.Errorf("it is %s, %s", w.state("files"), w.listed("files").Meta)
	}
	if reason := w.start("files"); !strings.Contains(reason, "nobody has trusted") {
		t.Errorf("a client started it: %q", reason)
	}
	if _, ok := w.given("files"); ok {
		t.Error("the agent was given it")
	}
	m := w.listed("files")
	details := w.host.ServerDetails(true, outside)[m.ID]
	if details.Command != os.Args[0] || !slices.Contains(details.Sets, "OUTSIDE_PID") {
		t.Errorf("the owner is shown %q %v", details.Command, details.Sets)
	}
	if hidden := w.host.ServerDetails(false, outside)[m.ID]; hidden.Command != "" || hidden.Sets != nil {
		t.Errorf("a guest is shown %+v", hidden)
	}
	if raw, _ := json.Marshal(w.session(outside).Customizations); strings.Contains(string(raw), os.Args[0]) || strings.Contains(string(raw), "OUTSIDE_PID") {
		t.Errorf("clients see how it is started: %s", raw)
	}
	driver := host.Caller{Principal: access.Principal{ID: "guest:dan", Role: access.RoleDriver, Session: outside, Prompt: true, Approve: true, Type: true}}
	for name, err := range map[string]error{
		"a guest":         w.host.TrustServer(t.Context(), driver, outside, m.ID, details.Digest),
		"another command": w.host.TrustServer(t.Context(), anasClient, outside, m.ID, "something else"),
		"another server":  w.host.TrustServer(t.Context(), anasClient, outside, "nobody", details.Digest),
		"another session": w.host.TrustServer(t.Context(), anasClient, "ahp-session:/none", m.ID, details.Digest),
	} {
		if err == nil {
			t.Errorf("%s was trusted", name)
		}
	}
	if _, err := os.Stat(pid); err == nil {
		t.Fatal("it ran")
	}
	w.running("files")
	if len(w.pids(pid)) != 2 {
		t.Error("it does not run")
	}
	if by := w.host.ServerDetails(true, outside)[m.ID].By; by != "Ana" {
		t.Errorf("trusted by %q", by)
	}
}

func TestWhatIsTrustedIsTheCommandAsItWas(t *testing.T) {
	w := outsideWorld(t, map[string]any{"files": started()})
	w.running("files")
	w.declare(map[string]any{"files": started("PATH", "/evil")})
	w.act(&ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "ana", Tools: []ahp.ToolDefinition{}}}) // has the host look again
	w.untilState("files", "stopped")
	if reason := w.start("files"); !strings.Contains(reason, "nobody has trusted") {
		t.Errorf("another command was started: %q", reason)
	}
	w.declare(map[string]any{"files": started()})
	w.act(&ahp.SessionActiveClientRemovedAction{ClientID: "ana"})
	w.until("the first command is trusted still", func() bool { return w.listed("files").Meta["ahphub/untrusted"] == nil })
	w.must(w.host.DistrustServer(t.Context(), anasClient, outside, w.listed("files").ID))
	w.until("trust is taken back", func() bool { return w.listed("files").Meta["ahphub/untrusted"] != nil })
}

func TestAnAgentReachesAServerThroughTheHost(t *testing.T) {
	t.Setenv("HOST_SECRET", "of the host")
	w := outsideWorld(t, map[string]any{"files": started("GIVEN", "${HOST_GIVES:-for it}")})
	w.running("files")
	w.until("its tools are the session's", func() bool { return len(w.session(outside).ServerTools) == 3 })
	tool := w.session(outside).ServerTools[0]
	if tool.Name != "files__echo" || tool.Description != "Says it again" || len(tool.InputSchema) == 0 {
		t.Errorf("a tool is %+v", tool)
	}
	w.prompted() // the agent is opened anew, with the server
	m, ok := w.given("files")
	if !ok {
		t.Fatal("the agent was not given the server")
	}
	changed := make(chan struct{}, 10)
	c := w.connect(m, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	if got := w.names(c); !slices.Equal(got, []string{"echo", "environment", "grow"}) {
		t.Errorf("the agent sees %v", got)
	}
	for input, want := range map[string]string{"HOST_SECRET": "", "GIVEN": "for it", "HOME": os.Getenv("HOME")} {
		if got := w.ok(c, "environment", echoIn{input}); got != want {
			t.Errorf("the server sees %s=%q, want %q", input, got, want)
		}
	}
	if got := w.ok(c, "echo", echoIn{"Grüße"}); got != "echo Grüße" {
		t.Error(got)
	}
	if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test:/one"}); err != nil || r.Contents[0].Text != "the resource" {
		t.Errorf("a resource: %v, %v", r, err)
	}
	if p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"}); err != nil || len(p.Messages) != 1 {
		t.Errorf("a prompt: %v, %v", p, err)
	}
	w.ok(c, "grow", struct{}{})
	<-changed
	w.until("the new tool is listed", func() bool { return slices.Contains(w.names(c), "more") && len(w.session(outside).ServerTools) == 4 })
	if got := w.ok(c, "more", struct{}{}); got != "more" {
		t.Error(got)
	}

	if reason := w.act(&ahp.SessionMcpServerStopRequestedAction{ID: w.listed("files").ID}); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "stopped")
	w.until("its tools are gone", func() bool { return len(w.names(c)) == 0 && len(w.session(outside).ServerTools) == 0 })
	w.fails(c, "echo", echoIn{"x"}, "does not run now")
	if reason := w.start("files"); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "ready")
	w.until("its tools are back", func() bool { return len(w.names(c)) == 3 })
}

// AHP requirement 200.
func TestAServerThatIsSwitchedOffStopsAndIsNotHandedOn(t *testing.T) {
	w := outsideWorld(t, map[string]any{"files": started(), "web": started()})
	w.running("files")
	w.running("web")
	off := []ahp.CustomizationEnablement{{Value: &ahp.CustomizationSessionEnablement{Enabled: false}}}
	if reason := w.act(&ahp.SessionCustomizationToggledAction{ID: w.listed("files").ID, Enablement: off}); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "stopped")
	if reason := w.start("files"); !strings.Contains(reason, "switched off") {
		t.Errorf("it was started: %q", reason)
	}
	w.prompted()
	if _, ok := w.given("files"); ok {
		t.Error("the agent was given what is switched off")
	}
	if _, ok := w.given("web"); !ok || w.state("web") != "ready" {
		t.Error("the other one is gone too")
	}
	w.act(&ahp.SessionCustomizationToggledAction{ID: w.listed("files").ID})
	w.until("it is on again", func() bool { return w.listed("files").Enablement == nil })
	w.until("the agent was closed", func() bool { w.prompted(); _, ok := w.given("files"); return ok })
	w.untilState("files", "ready")
}

func TestWhatAServerDiedOfIsTold(t *testing.T) {
	w := outsideWorld(t, map[string]any{
		"fails":   started(outsideEnv, "fails"),
		"babbles": started(outsideEnv, "babbles"),
		"nowhere": map[string]any{"command": "/no/such/program"},
		"silent":  map[string]any{"command": "true"},
		"needs":   map[string]any{"command": "true", "args": []string{"${NOBODY_SET_THIS}"}},
		"gone":    map[string]any{"url": "http://127.0.0.1:1/mcp"},
		"odd":     map[string]any{},
	})
	for name, want := range map[string]string{
		"fails":   "exit status 7. It said: no licence found",
		"babbles": "does not speak the Model Context Protocol",
		"nowhere": "cannot be started",
		"silent":  "its program ended",
		"needs":   "NOBODY_SET_THIS, which is not set",
		"gone":    "cannot be reached",
	} {
		w.trust(name)
		if reason := w.start(name); reason != "" {
			t.Errorf("%s: %s", name, reason)
		}
		w.until(name+" fails", func() bool { return strings.HasPrefix(w.state(name), "error") })
		if got := w.state(name); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want it to say %q", name, got, want)
		}
	}
	if got := w.state("odd"); got != "error odd says neither a command nor a url" {
		t.Errorf("a server that cannot be started: %s", got)
	}
	if reason := w.start("odd"); !strings.Contains(reason, "neither a command nor a url") {
		t.Errorf("and is: %q", reason)
	}
}

func TestAServerEndsWithItsSessionAndWhatItStartedToo(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	w := outsideWorld(t, map[string]any{"files": started("OUTSIDE_PID", pid)})
	w.running("files")
	pids := w.pids(pid)
	w.must(w.host.DisposeSession(t.Context(), anasClient, ahp.DisposeSessionParams{Channel: outside}))
	w.until("its processes are gone", func() bool { return !isRunning(pids[0]) && !isRunning(pids[1]) })
}

// isRunning is false for one that ended and that nobody has waited for.
func isRunning(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runs(pid)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A message waits for a server that starts, until somebody lets it go on without.
func TestMessagesWaitForAServerUntilItIsPutAside(t *testing.T) {
	goes := filepath.Join(t.TempDir(), "go")
	w := outsideWorld(t, map[string]any{"slow": started(outsideEnv, "mute", "OUTSIDE_GO", goes)})
	w.trust("slow")
	chat := w.session(outside).DefaultChat
	w.until("the agent is closed, to be opened with it", func() bool { return w.agent.closed.Load() == 1 })
	out, err := w.host.Dispatch(w.Context(), anasClient, chat, 0, &ahp.ChatTurnStartedAction{TurnID: "t",
		Message: ahp.Message{Text: "go", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	w.must(err)
	if out.Rejected != "" {
		t.Fatal(out.Rejected)
	}
	w.until("it starts, and messages wait", func() bool {
		st, ok := w.listed("slow").State.Value.(*ahp.McpServerStartingState)
		return ok && st.Blocking != nil && *st.Blocking
	})
	select {
	case <-w.agent.turns:
		t.Error("the message did not wait")
	default:
	}
	if reason := w.act(&ahp.SessionMcpServerBackgroundRequestedAction{ID: w.listed("slow").ID}); reason != "" {
		t.Fatal(reason)
	}
	<-w.agent.turns
	st, ok := w.listed("slow").State.Value.(*ahp.McpServerStartingState)
	if !ok || st.Blocking == nil || *st.Blocking {
		t.Errorf("it is %s, and holds messages back", w.state("slow"))
	}
	w.must(os.WriteFile(goes, nil, 0o600))
	w.untilState("slow", "ready")
	w.agent.end <- struct{}{}
}

// AHP requirement 190.
func TestAServerThatWantsATokenIsGivenOne(t *testing.T) {
	var asked []string
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return outsideServer() }, nil)
	var at string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": at, "authorization_servers": []string{"https://login.example.com"}, "scopes_supported": []string{"files"}})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-token" || r.Header.Get("X-Team") != "blue" {
			asked = append(asked, r.Header.Get("Authorization"))
			w.Header().Set("WWW-Authenticate", `Bearer scope="files", error_description="Who are you?"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	at = srv.URL + "/mcp"
	w := outsideWorld(t, map[string]any{"web": map[string]any{"type": "http", "url": at, "headers": map[string]string{"X-Team": "blue"}}})
	w.trust("web")
	if reason := w.start("web"); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("web", "authRequired required "+at)
	need := w.listed("web").State.Value.(*ahp.McpServerAuthRequiredState)
	if !slices.Equal(need.Resource.AuthorizationServers, []string{"https://login.example.com"}) || need.Description != "Who are you?" || !slices.Equal(need.RequiredScopes, []string{"files"}) {
		t.Errorf("it asks for %+v", need)
	}
	authenticate := func(resource, token string) error {
		_, err := w.host.Authenticate(t.Context(), anasClient, ahp.AuthenticateParams{Resource: resource, Token: token})
		return err
	}
	if authenticate("https://elsewhere.example.com", "the-token") == nil {
		t.Error("a token for a resource that nobody asked for was taken")
	}
	w.must(authenticate(at, "wrong"))
	w.untilState("web", "authRequired expired "+at)
	w.must(authenticate(at, "the-token"))
	w.untilState("web", "ready")
	if strings.Contains(w.log.String(), "the-token") {
		t.Error("the token is logged")
	}
	if raw, _ := json.Marshal(w.session(outside)); strings.Contains(string(raw), "the-token") {
		t.Error("the token is in the session's state")
	}
}

func TestHeadersGoToTheServerAlone(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	client := &http.Client{Transport: headers{next: http.DefaultTransport, set: map[string]string{"X-Key": "k"}, token: "t", server: first.URL, asked: &asked{}}}
	res, err := client.Get(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); len(body) > 0 {
		t.Errorf("another host was told %q", body)
	}
}

func TestDigestsAndDialsAreOfOneCommand(t *testing.T) {
	_, err := Dialer{}.Dial(t.Context(), host.ServerSpec{Name: "x", Command: custom.Command{Argv: []string{"./run"}, Dir: t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "./run cannot be started") {
		t.Errorf("a program that is not in the directory: %v", err)
	}
}
