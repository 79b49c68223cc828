package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A repository that was checked out starts no server by itself, and no client can start it either.
// Only the owner sees its command (AHP requirement 151).
func TestRepositoryServerNeedsTrust(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	w := outsideWorld(t, map[string]any{"files": started("OUTSIDE_PID", pid)})
	if w.state("files") != "stopped" || string(w.listed("files").Meta["ahphub/untrusted"]) != "true" {
		t.Errorf("it is %s, %s", w.state("files"), w.listed("files").Meta)
	}
	if reason := w.start("files"); !strings.Contains(reason, "not trusted yet") {
		t.Errorf("a client started it: %q", reason)
	}
	if _, ok := w.given("files"); ok {
		t.Error("the agent was given it")
	}
	m := w.listed("files")
	details := w.host.Customs.ServerDetails(true, outside)[m.ID]
	if details.Command != os.Args[0] || !slices.Contains(details.Sets, "OUTSIDE_PID") {
		t.Errorf("the owner is shown %q %v", details.Command, details.Sets)
	}
	if hidden := w.host.Customs.ServerDetails(false, outside)[m.ID]; hidden.Command != "" || hidden.Sets != nil {
		t.Errorf("a guest is shown %+v", hidden)
	}
	if raw, _ := json.Marshal(w.session(outside).Customizations); strings.Contains(string(raw), os.Args[0]) ||
		strings.Contains(string(raw), "OUTSIDE_PID") {
		t.Errorf("clients see how it is started: %s", raw)
	}
	driver := core.Caller{Principal: access.Principal{ID: "guest:dan", Role: access.RoleDriver, Session: outside,
		Prompt: true, Approve: true, Type: true}}
	for name, err := range map[string]error{
		"a guest":         w.host.Customs.TrustServer(t.Context(), driver, outside, m.ID, details.Digest),
		"another command": w.host.Customs.TrustServer(t.Context(), anasClient, outside, m.ID, "something else"),
		"another server":  w.host.Customs.TrustServer(t.Context(), anasClient, outside, "nobody", details.Digest),
		"another session": w.host.Customs.TrustServer(t.Context(), anasClient, "ahp-session:/none", m.ID,
			details.Digest),
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
	if by := w.host.Customs.ServerDetails(true, outside)[m.ID].By; by != "Ana" {
		t.Errorf("trusted by %q", by)
	}
}

func TestTrustIsForUnchangedCommand(t *testing.T) {
	w := outsideWorld(t, map[string]any{"files": started()})
	w.running("files")
	w.declare(map[string]any{"files": started("PATH", "/evil")})
	// makes the host read the servers again
	w.act(&ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "ana",
		Tools: []ahp.ToolDefinition{}}})
	w.untilState("files", "stopped")
	if reason := w.start("files"); !strings.Contains(reason, "not trusted yet") {
		t.Errorf("another command was started: %q", reason)
	}
	w.declare(map[string]any{"files": started()})
	w.act(&ahp.SessionActiveClientRemovedAction{ClientID: "ana"})
	w.until("the first command is trusted still",
		func() bool { return w.listed("files").Meta["ahphub/untrusted"] == nil })
	w.must(w.host.Customs.DistrustServer(t.Context(), anasClient, outside, w.listed("files").ID))
	w.until("trust is taken back", func() bool { return w.listed("files").Meta["ahphub/untrusted"] != nil })
}

func TestAgentReachesServerThroughHost(t *testing.T) {
	t.Setenv("HOST_SECRET", "of the host")
	w := outsideWorld(t, map[string]any{"files": started("GIVEN", "${HOST_GIVES:-for it}")})
	w.running("files")
	w.until("its tools are the session's", func() bool { return len(w.session(outside).ServerTools) == 3 })
	tool := w.session(outside).ServerTools[0]
	if tool.Name != "files__echo" || tool.Description != "Says it again" || len(tool.InputSchema) == 0 {
		t.Errorf("a tool is %+v", tool)
	}
	w.prompted() // the agent is opened again, with the server
	m, ok := w.given("files")
	if !ok {
		t.Fatal("the agent was not given the server")
	}
	changed := make(chan struct{}, 10)
	c := w.connect(m, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
		*mcp.ToolListChangedRequest) {
		changed <- struct{}{}
	}})
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
	if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test:/one"}); err != nil ||
		r.Contents[0].Text != "the resource" {
		t.Errorf("a resource: %v, %v", r, err)
	}
	if p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"}); err != nil || len(p.Messages) != 1 {
		t.Errorf("a prompt: %v, %v", p, err)
	}
	w.ok(c, "grow", struct{}{})
	<-changed
	w.until("the new tool is listed", func() bool {
		return slices.Contains(w.names(c), "more") &&
			len(w.session(outside).ServerTools) == 4
	})
	if got := w.ok(c, "more", struct{}{}); got != "more" {
		t.Error(got)
	}

	if reason := w.act(&ahp.SessionMcpServerStopRequestedAction{ID: w.listed("files").ID}); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "stopped")
	w.until("its tools are gone", func() bool {
		return len(w.names(c)) == 0 &&
			len(w.session(outside).ServerTools) == 0
	})
	w.fails(c, "echo", echoIn{"x"}, "is not running")
	if reason := w.start("files"); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "ready")
	w.until("its tools are back", func() bool { return len(w.names(c)) == 3 })
}

// AHP requirement 200.
func TestDisabledServerStops(t *testing.T) {
	w := outsideWorld(t, map[string]any{"files": started(), "web": started()})
	w.running("files")
	w.running("web")
	off := []ahp.CustomizationEnablement{{Value: &ahp.CustomizationSessionEnablement{Enabled: false}}}
	if reason := w.act(&ahp.SessionCustomizationToggledAction{ID: w.listed("files").ID,
		Enablement: off}); reason != "" {
		t.Fatal(reason)
	}
	w.untilState("files", "stopped")
	if reason := w.start("files"); !strings.Contains(reason, "turned off") {
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

func TestReportServerFailure(t *testing.T) {
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
		"nowhere": "cannot start its program",
		"silent":  "its program ended",
		"needs":   "NOBODY_SET_THIS, which is not set",
		"gone":    "cannot reach the server",
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

func TestServerEndsWithSession(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	w := outsideWorld(t, map[string]any{"files": started("OUTSIDE_PID", pid)})
	w.running("files")
	pids := w.pids(pid)
	w.must(w.host.DisposeSession(t.Context(), anasClient, ahp.DisposeSessionParams{Channel: outside}))
	w.until("its processes are gone", func() bool { return !isRunning(pids[0]) && !isRunning(pids[1]) })
}

// A message waits for a starting server, until a person lets it continue without the server.
func TestMessagesWaitForServer(t *testing.T) {
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
