package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// runEchoServer runs the test binary as an MCP server.
func runEchoServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again"},
		func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo of " + a.Text}}}, nil, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// A repository has a server and rules: nothing runs until the owner trusts it on the page; then the
// agent calls its tool through the host until it is stopped. The decision survives a crash.
func TestTrustUseAndStopRepositoryServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"echo": map[string]any{"command": os.Args[0],
		"env": map[string]string{"ECHO_SERVER": "yes"}}}})
	for name, text := range map[string]string{".mcp.json": string(servers), "AGENTS.md": "# House rules\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("[[agent]]\nname = \"tools\"\ntitle = \"Tools\"\ncommand = %q\ndefault = true\nenv = { "+
		"TOOL_AGENT = \"http\", TOOL_AGENT_NOTE = %q, TOOL_AGENT_SERVER = \"echo\" }\n",
		os.Args[0], filepath.Join(t.TempDir(), "note"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Start(t, Options{Args: []string{"--config", config}, Dir: dir})
	j := &toolTalk{watcher: watch(t, p, "editor"), session: "ahp-session:/" + uuid.NewString()}
	j.begin()

	page := OpenBrowser(t).Page()
	page.SignIn(p)
	page.Open(p.URL + "/s/" + core.ShortID(j.session) + "/customizations")
	page.Live()
	page.WaitText("#custom-servers", "Not trusted yet")
	page.WaitText("#custom-rules", "House rules")
	page.Click("#custom-servers button[value=trust-start]")
	page.WaitText("#custom-servers", "Ready")
	page.WaitText("#custom-servers", "Says it again")
	page.Shot("customizations")
	said := j.say(`call echo {"text":"hello"}`)
	// the agent restarts once it is idle
	for try := 0; try < 20 && !strings.Contains(said, "echo of"); try++ {
		said = j.say(`call echo {"text":"hello"}`)
	}
	if !strings.Contains(said, "echo of hello") {
		t.Errorf("the agent got %q", said)
	}
	page.Click("#custom-servers button[value=stop]")
	page.WaitText("#custom-servers", "Stopped")
	if said := j.say(`call echo {"text":"again"}`); !strings.Contains(said, "is not running") {
		t.Errorf("a tool of a server that is stopped: %q", said)
	}
	page.Click("#custom-rules .crow .cswitch > summary")
	page.Click(`#custom-rules .crow button[value="off:workspace"]`)
	page.WaitText("#custom-rules", "Off in this workspace")
	j.wait("clients see it", func() bool {
		s, _ := j.State(j.session).(*ahp.SessionState)
		raw, _ := json.Marshal(s)
		return strings.Contains(string(raw), `"enabled":false`)
	})

	page.Allow(`WebSocket|ERR_CONNECTION`) // until the program is back
	p.Kill9()
	p.Restart()
	page.Open(p.URL + "/s/" + core.ShortID(j.session) + "/customizations")
	page.WaitText("#custom-rules", "Off in this workspace")
	page.WaitText("#custom-servers", "Trusted by")
	page.WaitText("#custom-servers", "Stopped")
}
