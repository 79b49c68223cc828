package mcp

import (
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// The tests' MCP server is this program, started with outsideEnv.
const outsideEnv = "OUTSIDE_TEST"

type echoIn struct {
	Text string `json:"text"`
}

// outsideServer has tools that echo, return the environment and add another tool, a resource and a
// prompt.
func outsideServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "outside", Version: "1"}, nil)
	say := func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again"},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
			return say("echo " + in.Text)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "environment"},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
			return say(os.Getenv(in.Text))
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "more"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return say("more")
				})
			return say("grown")
		})
	s.AddResource(&mcp.Resource{URI: "test:/one", Name: "one"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:/one", Text: "the resource"}}},
				nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "ask"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
			Content: &mcp.TextContent{Text: "the prompt"}}}}, nil
	})
	return s
}

// runOutside runs the server as a program. It writes its process id, and that of a program it
// started, for the tests.
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
	case "mute": // starts, and is silent until its file exists
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

var anasClient = core.Caller{Principal: ana, ClientID: "ana"}

// outsideWorld returns a world with a session in a directory that declares servers.
func outsideWorld(t *testing.T, servers map[string]any) *world {
	w := newWorld(t, Limits{})
	w.declare(servers)
	w.must(w.host.CreateSession(w.Context(), anasClient, ahp.CreateSessionParams{Channel: outside}))
	w.must(w.host.Keep(outside)) // so that its agent is opened
	w.until("the agent opens", func() bool { _, ok := w.agent.spec(outside); return ok })
	return w
}

// listed returns a server of the session's tree.
func (w *world) listed(name string) *ahp.McpServerCustomization {
	for _, c := range w.session(outside).Customizations {
		if m, ok := c.Value.(*ahp.McpServerCustomization); ok && m.Name == name {
			return m
		}
	}
	return nil
}

// state returns a server's state as a word, with its error.
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

// act dispatches as the owner and returns the reason of a refusal.
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
	w.must(w.host.Customs.TrustServer(w.Context(), anasClient, outside, m.ID, w.host.Customs.ServerDetails(true,
		outside)[m.ID].Digest))
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

// given returns the server's address that the agent got.
func (w *world) given(name string) (agent.MCPServer, bool) {
	spec, _ := w.agent.spec(outside)
	i := slices.IndexFunc(spec.MCP, func(m agent.MCPServer) bool { return m.Name == name })
	if i < 0 {
		return agent.MCPServer{}, false
	}
	return spec.MCP[i], true
}

// prompted has the agent answer a message, which opens the agent again if needed.
func (w *world) prompted() {
	w.Helper()
	chat := w.session(outside).DefaultChat
	out, err := w.host.Dispatch(w.Context(), anasClient, chat, 0,
		&ahp.ChatTurnStartedAction{TurnID: fmt.Sprint(time.Now().UnixNano()),
			Message: ahp.Message{Text: "go", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	w.must(err)
	if out.Rejected != "" {
		w.Fatal(out.Rejected)
	}
	<-w.agent.turns
	w.agent.end <- struct{}{}
	w.until("the turn ends", func() bool {
		st, _ := hub.StateOf[*ahp.ChatState](w.hub, chat)
		return st.ActiveTurn == nil
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

// isRunning returns false for a process that has ended and was not waited for.
func isRunning(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runs(pid)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z")
}
