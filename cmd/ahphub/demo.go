package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/sandbox"
)

type demoCommand struct {
	Listen    string `default:"127.0.0.1:8137" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Default: ${default}."`
	Machines  int    `placeholder:"N" help:"Machines that join, as programs on this computer, with sessions on each; 5 at most. Default: none."`
	Cluster   bool   `help:"Run three nodes of a cluster instead, as programs on this computer, and print how to end the one that leads."`
	LogFormat string `default:"text" placeholder:"text|json" help:"Format of the log on standard error. Default: ${default}."`
	LogLevel  string `default:"warn" placeholder:"debug|info|warn|error" help:"Lowest level to log. Default: ${default}."`
}

// Run serves from a temporary directory and deletes it afterwards.
func (c demoCommand) Run(e *environment) error {
	if c.Machines < 0 || c.Machines > mostDemoMachines {
		return fmt.Errorf("--machines is %d: use 0 to %d", c.Machines, mostDemoMachines)
	}
	tmp, err := os.MkdirTemp("", "ahphub-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	repo := filepath.Join(tmp, "greeter")
	if err := sampleRepository(e.ctx, repo); err != nil {
		return fmt.Errorf("cannot make the sample repository: %w", err)
	}
	if c.Cluster {
		return c.runCluster(e, tmp, repo)
	}
	cfg := Config{Listen: c.Listen, Data: filepath.Join(tmp, "data"), Dir: repo, Agent: script.Provider,
		OwnerName: "Ana", LogFormat: c.LogFormat, LogLevel: c.LogLevel, demo: true, demoMachines: c.Machines,
		Sandbox: sandboxConfig{Sandbox: string(sandbox.Auto), SandboxPids: 4096}}
	return run(e.ctx, cfg, e.stdout, e.stderr)
}

var sampleFiles = map[string]string{
	"README.md": "# greeter\n\nSays hello.\n",
	"go.mod":    "module example.com/greeter\n\ngo 1.24\n",
	"greet.go": `package greeter

import "fmt"

// Greet says hello to someone.
func Greet(name string) string {
	return fmt.Sprintf("Hello, %s!", name)
}
`,
	"greet_test.go": `package greeter

import "testing"

func TestGreet(t *testing.T) {
	if got := Greet("Ana"); got != "Hello, Ana!" {
		t.Errorf("got %q", got)
	}
}
`,
}

// sampleRepository makes a small repository with one commit.
func sampleRepository(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range sampleFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, args := range []string{"init -q -b main", "add .",
		"-c user.name=Ana -c user.email=ana@example.com -c commit.gpgsign=false commit -q -m Greet"} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, strings.Fields(args)...)...)
		cmd.Env = append(environ.Inherit(nil), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args, err, out)
		}
	}
	return nil
}

// makeDemo creates a session as the owner for each prompt of the demo's scenario, each in its own
// repository to keep their changes separate.
func (a *app) makeDemo(ctx context.Context) error {
	who := core.Caller{Principal: a.owner, ClientID: "demo"}
	var reviewed ahp.URI
	for i, prompt := range script.Demo().Prompts() {
		repo := filepath.Join(filepath.Dir(a.cfg.Dir), fmt.Sprintf("session-%d", i+1), filepath.Base(a.cfg.Dir))
		if err := sampleRepository(ctx, repo); err != nil {
			return fmt.Errorf("the demo's session %q: %w", prompt, err)
		}
		session := ahp.URI("ahp-session:/" + ids.New())
		dirs := []ahp.URI{(&url.URL{Scheme: "file", Path: filepath.ToSlash(repo)}).String()}
		if err := a.host.CreateSession(ctx, who,
			ahp.CreateSessionParams{Channel: session, WorkingDirectories: dirs}); err != nil {
			return fmt.Errorf("the demo's session %q: %w", prompt, err)
		}
		if err := a.prompt(ctx, who, session, prompt); err != nil {
			return fmt.Errorf("the demo's session %q: %w", prompt, err)
		}
		if prompt == demoReviewed {
			reviewed = session
		}
	}
	if err := a.makeDemoMachines(ctx, who); err != nil {
		return err
	}
	if err := a.reviewDemo(ctx, who, reviewed); err != nil { // last, because its agent takes time
		return fmt.Errorf("the demo's review: %w", err)
	}
	return nil
}

// prompt sends a prompt to a session's default chat, and names the session after it.
func (a *app) prompt(ctx context.Context, who core.Caller, session ahp.URI, text string) error {
	s, ok := hub.StateOf[*ahp.SessionState](a.hub, session)
	if !ok {
		return fmt.Errorf("the session was not created")
	}
	turn := &ahp.ChatTurnStartedAction{TurnID: ids.New(), StartedAt: time.Now().UTC().Format(time.RFC3339),
		Message: ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	if err := a.dispatch(ctx, who, session, &ahp.SessionTitleChangedAction{Title: text}); err != nil {
		return err
	}
	return a.dispatch(ctx, who, s.DefaultChat, turn)
}
