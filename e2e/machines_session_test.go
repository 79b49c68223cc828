package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// joinMachine joins a machine to a hub whose owner has a page open.
func joinMachine(t *testing.T, p *Page, prog *Program, name string, args ...string) (box *machine, hub string) {
	t.Helper()
	p.Open(prog.URL + "/machines")
	Eval[any](p, `document.querySelector('form[action="/machines/tokens"] button').click()`)
	p.Wait(`document.querySelector('#made')?.value.startsWith('ahphub join ')`)
	command := strings.Fields(Eval[string](p, `document.querySelector('#made').value`))[2:]
	box = newMachine(t)
	box.join(append(append(command, "--name", name), args...)...)
	p.Wait(card(name, "Online"))
	return box, command[0]
}

// newOnMachine opens the form of a new session on a machine named box2.
func (p *Page) newOnMachine(t *testing.T, prog *Program, box *machine) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		p.Open(prog.URL + "/new")
		if Eval[bool](p, `!!document.querySelector(".choice input[name=machine]:not([value='']):enabled")`) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no agent of the machine is offered")
		}
	}
	p.Click(".choice input[name=machine]:not([value=''])")
	p.Wait(`document.querySelector('#dir').value === ` + strconv.Quote(box.home))
	p.WaitText("#place", "Shell on box2")
}

// startThere starts that session in a directory with a command, approves it, and returns the
// session's path.
func (p *Page) startThere(dir, command string) string {
	p.Fill("#dir", dir)
	p.Fill("#message", command)
	p.Press("\r", chromedp.ModifierCtrl)
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	p.Click(".asks button[data-kind=approve]")
	p.Wait(`document.querySelector('#turns').innerText.includes("exit 0")`)
	return Eval[string](p, "location.origin + location.pathname.match(/^\\/s\\/[^/]+/)[0]")
}

// A session on a machine works like one on the hub's computer.
func TestSessionRunsOnMachine(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	p := OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.SignIn(prog)
	box, hub := joinMachine(t, p, prog, "box2", "--sandbox", "none")
	dir := filepath.Join(box.home, "src")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.newOnMachine(t, prog, box)
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Shot("new-on-machine-" + l.name)
	}
	p.look(1440, 900, "light")
	base := p.startThere(dir, "echo hello from box2 > made.txt; pwd")
	p.Says("#turns", dir)
	p.Shot("machine-chat")

	p.Open(base + "/changes")
	p.WaitText(".file-path", "made.txt")
	p.Says(".file-body", "hello from box2")
	p.Shot("machine-changes")
	if text := Eval[string](p, "document.body.innerText"); strings.Contains(text, "/machines/") {
		t.Error("the review shows a path as the hub spells it")
	}

	// While it is away, messages and changes can be read, and the page says why the rest does not
	// work.
	p.Allow("ERR_|status of")
	must(t, box.cmd.Process.Kill())
	if _, err := box.ends(); err == nil {
		t.Error("a killed machine ends well")
	}
	p.Open(base)
	p.Says("#turns", "echo hello from box2")
	p.WaitText("#silent", "box2 is offline")
	if machine := Eval[string](p, `[...document.querySelectorAll('#info dt')].find(e => e.textContent === 'Machine')?.nextElementSibling.textContent`); !strings.Contains(machine, "box2") {
		t.Errorf("the session's info says of the machine %q", machine)
	}
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Shot("machine-offline-" + l.name)
	}
	p.look(1440, 900, "light")
	p.Open(base + "/changes")
	p.Says(".file-body", "hello from box2")
	p.Open(prog.URL + "/")
	p.WaitText("#inbox .line2", "box2 is offline")
	p.Shot("machine-offline-inbox")
	p.Open(prog.URL + "/audit")
	p.WaitText("main", "created a session: Shell on box2")
	p.Open(base)
	p.Live()

	box.join(hub, "--sandbox", "none")
	p.Wait("!document.querySelector('#silent').textContent.includes('offline')")
	p.Fill("#message", "cat made.txt")
	p.Press("\r")
	p.Click(".asks button[data-kind=approve]")
	p.Wait(`[...document.querySelectorAll('#turns > *')].at(-1).textContent.includes("hello from box2")`)
	p.Shot("machine-back")
	for _, scope := range []string{"uncommitted", "session"} { // viewed versions are kept
		p.Open(base + "/changes?scope=" + scope)
		p.WaitText(".file-path", "made.txt")
		p.Says(".file-body", "hello from box2")
	}

	// Even if the hub restarts while it is away, its changes can be read, commented on and judged.
	must(t, box.cmd.Process.Kill())
	if _, err := box.ends(); err == nil {
		t.Error("a killed machine ends well")
	}
	prog.Stop()
	prog.Restart()
	for _, scope := range []string{"uncommitted", "session"} {
		p.Open(base + "/changes?scope=" + scope)
		p.WaitText(".file-path", "made.txt")
		p.Says(".file-body", "hello from box2")
	}
	p.Live()
	p.Shot("machine-offline-changes")
	p.Click(`.r.a`)
	p.Press("c")
	p.Wait("document.activeElement?.matches('form.comment-form textarea')")
	p.Type("Why box2?")
	p.Click("form.comment-form button.main")
	p.Says(".draft .text", "Why box2?")
	p.Click("#finish")
	p.Wait("document.activeElement?.id === 'verdict-summary'")
	p.Click("#verdict-form button.main")
	p.WaitText(".thr .entries", "Why box2?")
	p.Open(base)
	p.Wait(`document.querySelectorAll('#queue .queued').length === 1`) // sent to the agent when the machine is back
}
