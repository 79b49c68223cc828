package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// editor is VS Code in a browser, served by code-server, with its own AHP client connected to a
// program under test.
type editor struct {
	*Page
	t *testing.T
}

// openEditor starts code-server as installed by .ci/editors, and opens a directory in it.
func openEditor(t *testing.T, h *hosted, install string) *editor {
	t.Helper()
	address, err := url.Parse(h.program.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	config := filepath.Join(home, "config.yaml")
	settings := filepath.Join(home, "data", "User", "settings.json")
	err = errors.Join(os.WriteFile(config, nil, 0o600), os.MkdirAll(filepath.Dir(settings), 0o700),
		os.WriteFile(settings, []byte(`{"remote.autoForwardPorts": false}`), 0o600)) // its notice covers the chat
	if err != nil {
		t.Fatal(err)
	}
	served := &log{}
	cmd := exec.Command(install+"/node_modules/node/bin/node", install+"/node_modules/code-server/out/node/entry.js",
		"--config", config, "--auth", "none", "--bind-addr", "127.0.0.1:0",
		"--user-data-dir", home+"/data", "--extensions-dir", home+"/extensions",
		"--disable-telemetry", "--disable-update-check", "--disable-workspace-trust",
		"--vscode-option", "agent-host-bridge-port="+address.Port(),
		"--vscode-option", "agent-host-bridge-host="+address.Hostname(),
		"--vscode-option", "agent-host-bridge-connection-token="+h.program.Token())
	cmd.Env = append(clean(os.Environ()), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home,
		"XDG_CACHE_HOME="+home)
	cmd.Stdout, cmd.Stderr = served, served
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it starts child processes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closePages(t)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()                                      // by that signal
		if t.Failed() {
			t.Logf("code-server's log:\n%s", served.tail())
		}
	})
	const listening = "HTTP server listening on "
	until(t, "code-server listens", func() bool { return strings.Contains(served.String(), listening) })
	_, at, _ := strings.Cut(served.String(), listening)
	e := &editor{h.browser.Page(), t}
	e.Allow(".*") // VS Code's own console messages
	e.look(1400, 900, "light")
	e.Open(strings.Fields(at)[0] + "?folder=" + url.QueryEscape(h.repo))
	return e
}

// until polls a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// place finds the position of the first visible text with a prefix; null without one.
const place = `(() => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let n; n = walk.nextNode();) {
		if (!n.data.trim().startsWith(%q)) continue
		const range = document.createRange()
		range.selectNodeContents(n)
		const b = range.getBoundingClientRect()
		if (b.width && b.top >= 0 && b.bottom <= innerHeight) return [b.x + b.width / 2, b.y + b.height / 2]
	}
	return null
})()`

// sees waits for a text.
func (e *editor) sees(text string) {
	e.t.Helper()
	e.Wait(fmt.Sprintf(place, text))
}

// clickText clicks a text once it appears.
func (e *editor) clickText(text string) {
	e.t.Helper()
	e.sees(text)
	at := Eval[[]float64](e.Page, fmt.Sprintf(place, text))
	e.Do(chromedp.MouseClickXY(at[0], at[1]))
}

// clickOn clicks the first visible element of a selector.
func (e *editor) clickOn(selector string) {
	e.t.Helper()
	at := fmt.Sprintf(`(() => {
		const b = [...document.querySelectorAll(%q)].map(n => n.getBoundingClientRect()).find(b => b.width)
		return b ? [b.x + b.width / 2, b.y + b.height / 2] : null
	})()`, selector)
	e.Wait(at)
	now := Eval[[]float64](e.Page, at)
	e.Do(chromedp.MouseClickXY(now[0], now[1]))
}

// choose opens a menu by one text and selects another, which may appear later.
func (e *editor) choose(menu, item string) {
	e.t.Helper()
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); {
		e.clickText(menu)
		ctx, cancel := context.WithTimeout(e.Ctx, 2*time.Second)
		_, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!"+fmt.Sprintf(place, item)))
		cancel()
		if err == nil {
			e.clickText(item)
			return
		}
		e.Press("\x1b")
	}
	e.Shot("no-" + item)
	e.t.Fatalf("%s does not offer %s", menu, item)
}

// command runs a command of the palette.
func (e *editor) command(name string) {
	e.t.Helper()
	e.Press("P", chromedp.ModifierCtrl, chromedp.ModifierShift)
	e.Wait(`document.querySelector('.quick-input-widget input')?.offsetParent`)
	e.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		return chromedp.Do(ctx,
			chromedp.KeyEvent(name))
	}))
	e.Wait(fmt.Sprintf(`document.querySelector('.quick-input-list .monaco-list-row.focused')?.innerText.includes(%q)`,
		name))
	e.Press("\r")
}

// say sends a message to the agent of the open session.
func (e *editor) say(message string) {
	e.t.Helper()
	e.focusInput()
	e.Do(chromedp.KeyEvent(message))
	e.shows(".view-lines", message)
	e.Press("\r")
}

// focusInput clicks the chat's input until it has the focus: it moves while an agent's settings
// load.
func (e *editor) focusInput() {
	e.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		e.clickText("Chat with")
		ctx, cancel := context.WithTimeout(e.Ctx, 2*time.Second)
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](`!!document.activeElement?.closest('.monaco-editor')`))
		cancel()
		if err == nil {
			return
		}
	}
	e.t.Fatal("the chat's input does not take the focus")
}

// shows waits until an element of the code editor contains a text; its spaces are not plain ones.
func (e *editor) shows(selector, text string) {
	e.t.Helper()
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(v => v.innerText.replace(/\s/g, ' ').includes(%q))`,
		selector, text))
}

// answers waits until the newest answer contains a text.
func (e *editor) answers(text string) {
	e.t.Helper()
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll('.interactive-response')].at(-1)?.innerText.includes(%q)`, text))
}

// listed waits for a session in the list.
func (e *editor) listed(title string) {
	e.t.Helper()
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll('.agent-sessions-viewer .monaco-list-row')].some(r => r.innerText.includes(%q))`, title))
}

// installedEditor returns where .ci/editors installed code-server.
func installedEditor(t *testing.T) string {
	t.Helper()
	install := os.Getenv("AHPHUB_EDITORS")
	if install == "" {
		t.Skip("this drives VS Code: make test-editors installs it and runs this")
	}
	return install
}

// A third-party agent calls a tool that VS Code offers, and gets its result.
func TestEditorsVSCodeTools(t *testing.T) {
	install, m := installedEditor(t), startModel(t)
	h := hosting(t, opencodeConfig(t, installed(t, "AHPHUB_EDITORS_TOOLS"), m))
	e := openEditor(t, h, install)
	e.choose("Local", "Opencode")
	e.sees("Chat with Opencode")
	e.say("Say something about pelicans")
	e.answers("First half, second half.")
	e.say("call: testFailure {}")
	e.answers("That is done.")
	e.Shot("tools")
	if q := m.last(); !strings.HasSuffix(q.result, "testFailure") || !strings.Contains(strings.ToLower(q.text),
		"test") {
		t.Errorf("the model was told %q by the tool %q", q.text, q.result)
	}
}

// The real VS Code completes the whole journey: it lists a session made in the browser, prompts,
// approves, edits, shows the diff, cancels, sees a session created meanwhile, and continues after
// the host was killed.
func TestEditorsVSCode(t *testing.T) {
	install := installedEditor(t)
	h := &hosted{T: t, browser: OpenBrowser(t), repo: greetRepository(t),
		program: Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})}
	h.ana = h.browser.Page()
	h.ana.look(1440, 900, "light")
	h.ana.SignIn(h.program)
	h.watcher = watch(t, h.program, "watcher")
	h.begin("say from the browser")
	h.turn(1)

	e := openEditor(t, h, install)
	t.Log("connect and list")
	e.choose("Local", "Script")
	e.sees("Chat with Script")
	e.Shot("connected")
	e.command("Show Agent Sessions Sidebar")
	e.listed("say from the browser")
	e.clickText("say from the browser")
	e.answers("from the browser")
	e.Shot("listed")

	t.Log("prompt and cancel")
	e.say("hold")
	h.ana.Says("#turns", "hold")
	e.clickOn(".codicon-stop-circle")
	if turn := h.turn(2); turn.State != ahp.TurnStateCancelled {
		t.Errorf("a turn that the editor stopped is %s", turn.State)
	}

	t.Log("a session of its own: prompt, approve, edit")
	e.clickText("New Session")
	e.sees("Delegate to")
	e.say("edit README.md A line of the editor's.")
	e.clickText("Allow")
	e.sees("1 file changed")
	e.Shot("edited")
	if b, err := os.ReadFile(h.repo + "/README.md"); err != nil ||
		!strings.Contains(string(b), "A line of the editor's.") {
		t.Errorf("the file holds %q (%v)", b, err)
	}

	t.Log("the difference")
	e.clickOn(".chat-changes-pill-button")
	e.Wait(`document.querySelector('.multiDiffEntry .file-path')?.innerText.trim() === 'README.md'`)
	e.shows(".multiDiffEntry .view-lines", "A line of the editor's.")
	e.Shot("difference")

	t.Log("a session that is made meanwhile")
	h.ana.Open(h.program.URL + "/new")
	h.ana.Fill("#dir", h.repo)
	h.ana.Fill("#message", "say from the other side")
	h.ana.Press("\r", chromedp.ModifierCtrl)
	e.listed("say from the other side")
	e.clickText("say from the other side")
	e.answers("from the other side")

	t.Log("the host is killed")
	h.ana.Allow("WebSocket|ERR_CONNECTION_REFUSED")
	joined := strings.Count(h.program.Log(), "client joined")
	h.program.Kill9()
	h.program.Restart()
	until(t, "the editor is back", func() bool { return strings.Count(h.program.Log(), "client joined") > joined })
	e.say("say after the crash")
	e.answers("after the crash")
	h.ana.Live()
	h.ana.Wait(`document.querySelectorAll('#turns .turn').length === 2`)
	if n := Eval[int](e.Page, `document.querySelectorAll('.interactive-request').length`); n != 2 {
		t.Errorf("the editor shows %d messages of 2", n)
	}
	e.listed("edit README.md")
	e.Shot("end")
}
