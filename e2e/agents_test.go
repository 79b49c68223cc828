package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// installed returns where .ci/agents installed a set of third-party agents; their tests run in make
// test-agents.
func installed(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skip("this drives a third-party agent: make test-agents installs it and runs this")
	}
	return dir
}

// hosted is a program with one third-party agent, with an open page and a protocol client.
type hosted struct {
	*testing.T
	program *Program
	browser *Browser
	ana     *Page
	watcher *watcher
	repo    string

	session, chat ahp.URI
}

// agentConfig returns a configuration file with one agent as the default.
func agentConfig(t *testing.T, name string, command []string, env map[string]string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "[[agent]]\nname = %q\ntitle = %q\ndefault = true\ncommand = %q\nargs = [", name,
		strings.ToUpper(name[:1])+name[1:], command[0])
	for _, arg := range command[1:] {
		fmt.Fprintf(&b, "%q, ", arg)
	}
	b.WriteString("]\n\n[agent.env]\n")
	for key, value := range env {
		fmt.Fprintf(&b, "%s = %q\n", key, value)
	}
	file := filepath.Join(t.TempDir(), "ahphub.toml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func hosting(t *testing.T, config string, args ...string) *hosted {
	t.Helper()
	h := &hosted{T: t, browser: OpenBrowser(t), repo: greetRepository(t),
		program: Start(t, Options{Args: append([]string{"--owner-name", "Ana", "--config", config},
			args...)})}
	h.ana = h.browser.Page()
	h.ana.look(1440, 900, "light")
	h.ana.SignIn(h.program)
	h.watcher = watch(t, h.program, "watcher")
	return h
}

// begin creates a session with a first message in the browser.
func (h *hosted) begin(message string) {
	h.Helper()
	h.ana.Open(h.program.URL + "/new")
	h.ana.Fill("#dir", h.repo)
	h.ana.Fill("#message", message)
	h.ana.Press("\r", chromedp.ModifierCtrl)
	h.ana.Wait("location.pathname.startsWith('/s/')")
	h.ana.Live()
	h.session = h.watcher.onlySession()
	h.watcher.mirror(h.session)
	h.chat = h.watcher.session(h.session).DefaultChat
	h.watcher.mirror(h.chat)
}

// say sends the next message.
func (h *hosted) say(message string) {
	h.Helper()
	h.ana.Fill("#composer textarea", message)
	h.ana.Press("\r")
}

// approve approves the pending card once it shows a text.
func (h *hosted) approve(shows string) {
	h.Helper()
	h.ana.WaitText(".approval", shows)
	h.ana.Shot("approval")
	const once = "[...document.querySelectorAll('.approval button[data-kind=approve]')].find(b => " +
		"!/session|always|all edits/i.test(b.innerText))"
	Eval[bool](h.ana, once+".click(), true") // some agents list the broadest permission first
	h.ana.Wait("!document.querySelector('.approval')")
}

// turn waits for the end of the nth turn and returns it.
func (h *hosted) turn(n int) *ahp.Turn {
	h.Helper()
	h.watcher.wait(fmt.Sprintf("turn %d", n), func() bool {
		c := h.watcher.chat(h.chat)
		return c != nil && len(c.Turns) == n && c.ActiveTurn == nil
	})
	return h.watcher.chat(h.chat).Turns[n-1]
}

// converged compares page and client with the host's state.
func (h *hosted) converged() {
	h.Helper()
	h.watcher.check()
	anew := h.browser.Page()
	anew.look(1440, 900, "light")
	anew.SignIn(h.program)
	anew.Open(Eval[string](h.ana, "location.href"))
	anew.Live()
	const text = `document.querySelector('#turns').textContent.replace(/\s+/g, ' ')`
	cold := Eval[string](anew, text)
	h.ana.Wait(fmt.Sprintf("%s === %q", text, cold))
}

// agentProcess returns the only child of the program whose command line contains a text.
func (h *hosted) agentProcess(part string) int {
	h.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.Fatal(err)
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(dir + "/cmdline")
		stat, err2 := os.ReadFile(dir + "/stat")
		if err != nil || err2 != nil || !strings.Contains(string(line), part) {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		if parent == h.program.Pid() || sandboxed() && parentOf(parent) == h.program.Pid() { // through a sandbox
			pid, _ := strconv.Atoi(filepath.Base(dir))
			return pid
		}
	}
	h.Fatalf("the program runs nothing named %s", part)
	return 0
}

// parentOf returns the parent of a process; 0 when it is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	parent, _ := strconv.Atoi(strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[1])
	return parent
}

// sandboxed reports whether third-party agents run in sandboxes.
func sandboxed() bool { return os.Getenv("AHPHUB_AGENTS_SANDBOX") != "" }

// sandboxArgs returns the arguments to run an agent from a directory in a sandbox, with a model on
// loopback.
func sandboxArgs(dir string, m *model) []string {
	if !sandboxed() {
		return nil
	}
	args := []string{"--sandbox", "namespace", "--sandbox-read", dir}
	if m != nil {
		args = append(args, "--sandbox-loopback", strings.TrimPrefix(m.URL, "http://"))
	}
	return args
}

// The example of the Agent Client Protocol's SDK: text, a tool call, a permission, a cancelled
// turn.
func TestAgentsExample(t *testing.T) {
	dir := installed(t, "AHPHUB_AGENTS")
	h := hosting(t, agentConfig(t, "example",
		[]string{"node", dir + "/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js"}, nil),
		sandboxArgs(dir, nil)...)

	h.begin("Improve the project")
	h.ana.WaitText("#turns", "Let me start by reading some files")
	h.approve("Modifying critical configuration file")
	if turn := h.turn(1); turn.State != ahp.TurnStateComplete {
		t.Fatalf("the turn is %s", turn.State)
	}
	h.ana.WaitText("#turns", "Perfect! I've successfully updated the configuration")
	h.ana.WaitText("#turns", "approved by Ana")

	h.say("Once more")
	h.ana.WaitText(".approval", "Modifying critical configuration file")
	h.ana.Click("#composer button[formaction$='/stop']")
	if turn := h.turn(2); turn.State != ahp.TurnStateCancelled {
		t.Errorf("a stopped turn is %s", turn.State)
	}
	h.converged()
}

// opencodeConfig configures opencode with the fake model, approvals for edits and commands, and
// separate directories.
func opencodeConfig(t *testing.T, dir string, m *model) string {
	t.Helper()
	home := t.TempDir()
	sees := map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}}
	a, another := map[string]any{"name": "A model", "attachment": true, "modalities": sees},
		map[string]any{"name": "Another model"}
	settings, err := json.Marshal(map[string]any{
		"provider": map[string]any{"fake": map[string]any{"npm": "@ai-sdk/openai-compatible",
			"options": map[string]any{"baseURL": m.URL + "/v1", "apiKey": "none"}, "models": map[string]any{"m": a,
				"n": another}}},
		"command": map[string]any{"hello": map[string]any{"template": "Greet $ARGUMENTS warmly",
			"description": "Say hello"}},
		"model": "fake/m", "small_model": "fake/m", "autoupdate": false, "share": "disabled",
		"permission": map[string]any{"edit": "ask", "bash": "ask"},
	})
	if err == nil {
		err = os.WriteFile(home+"/opencode.json", settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := []string{dir + "/node_modules/.bin/opencode", "acp"}
	if sandboxed() { // the sandbox has its own home
		return agentConfig(t, "opencode", command, map[string]string{"OPENCODE_CONFIG_CONTENT": string(settings),
			"OPENCODE_DISABLE_MODELS_FETCH": "1"})
	}
	return agentConfig(t, "opencode", command, map[string]string{
		"HOME": home, "OPENCODE_CONFIG": home + "/opencode.json", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"XDG_CONFIG_HOME": home + "/config", "XDG_DATA_HOME": home + "/data", "XDG_CACHE_HOME": home + "/cache",
		"XDG_STATE_HOME": home + "/state",
	})
}

// opencode end to end: streamed text, an edit that is on disk and in the turn's changes, a command,
// a cancelled turn, a crash of the agent during a turn, and a crash of the host.
func TestAgentsOpencode(t *testing.T) {
	m := startModel(t)
	dir := installed(t, "AHPHUB_AGENTS")
	h := hosting(t, opencodeConfig(t, dir, m), sandboxArgs(dir, m)...)

	h.begin("Say something about pelicans")
	h.turn(1)
	h.ana.WaitText("#turns", "First half, second half.")

	h.say("write: " + h.repo + "/made.txt")
	h.approve("made.txt")
	h.turn(2)
	if b, err := os.ReadFile(h.repo + "/made.txt"); string(b) != "one\ntwo\n" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
	h.ana.WaitText("#turns .chip", "in 1 file")

	h.say("run: echo from-the-command >ran.txt; cat ran.txt")
	h.approve("echo from-the-command")
	h.turn(3)
	h.ana.Says("#turns", "from-the-command")

	h.say("wait for ever")
	<-m.hung
	h.ana.WaitText("#turns", "I am thinking.")
	h.ana.Click("#composer button[formaction$='/stop']")
	if turn := h.turn(4); turn.State != ahp.TurnStateCancelled {
		t.Errorf("a stopped turn is %s", turn.State)
	}

	h.say("wait until you are killed")
	<-m.hung
	if err := syscall.Kill(h.agentProcess("opencode"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.turn(5)
	h.ana.WaitText("#turns", "Resume")
	h.ana.Shot("crashed")
	h.say("Are you back?")
	h.turn(6)
	if !m.saw("pelicans") {
		t.Error("after its crash the agent does not know what was said before")
	}

	h.program.Kill9()
	h.ana.Allow("WebSocket|ERR_CONNECTION_REFUSED")
	h.program.Restart()
	h.watcher.reconnect()
	h.ana.Live()
	h.say("And after a crash of the host?")
	h.turn(7)
	if !m.saw("pelicans") || !m.saw("Are you back?") {
		t.Error("after a crash of the host the agent does not know what was said before")
	}
	h.converged()
	h.ana.Pictures("end", "#turns")
}
