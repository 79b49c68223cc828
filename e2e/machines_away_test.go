package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Messages sent while a session's machine is offline wait, also across a restart of the hub, and
// are sent once when the machine is back.
func TestMessagesWaitForMachine(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{})
	p := OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.SignIn(prog)
	box, hub := joinMachine(t, p, prog, "box2", "--sandbox", "none")
	dir := filepath.Join(box.home, "src")
	must(t, os.Mkdir(dir, 0o755))
	must(t, exec.Command("git", "-C", dir, "init", "-q").Run())
	p.newOnMachine(t, prog, box)
	base := p.startThere(dir, "echo hello from box2 > made.txt")
	p.Open(base + "/changes")
	p.WaitText(".file-path", "made.txt")
	p.Says(".file-body", "hello from box2")
	p.Live()
	p.Allow("ERR_|status of")

	// The open review changes: what needs the machine disappears.
	p.Wait(`document.querySelector('#commit-open') !== null`)
	must(t, box.cmd.Process.Kill())
	if _, err := box.ends(); err == nil {
		t.Error("a killed machine ends well")
	}
	p.WaitText("#changes-state", "box2 is offline")
	p.Wait(`document.querySelector('#commit-open, .hunk-tools button, .file-head button[name=op]') === null`)
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Shot("machine-away-review-" + l.name)
	}
	p.look(1440, 900, "light")

	p.Open(base)
	p.WaitText("#silent", "Messages wait, and are sent when box2 is back.")
	p.WaitText("#composer-mode", "Send later")
	p.Fill("#message", "echo one >> said.txt")
	p.Press("\r")
	p.WaitText("#queue", "echo one")
	p.Fill("#message", "echo never >> said.txt")
	p.Press("\r")
	p.WaitText("#queue", "echo never")
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Shot("machine-away-chat-" + l.name)
	}
	p.look(1440, 900, "light")
	Eval[any](p, `[...document.querySelectorAll('#queue [aria-label="Remove from the queue"]')].at(-1).click()`)
	p.Wait(`!document.querySelector('#queue').textContent.includes('never')`)

	prog.Stop()
	prog.Restart()
	p.Open(base)
	p.WaitText("#queue", "echo one >> said.txt")
	p.Live()
	box.join(hub, "--sandbox", "none")
	p.Click(".asks button[data-kind=approve]")
	p.Wait(`[...document.querySelectorAll('#turns > *')].at(-1).textContent.includes("exit 0")`)
	p.Wait(`document.querySelector('#queue').textContent.trim() === ''`)
	p.WaitText("#composer-mode", "Send")
	said, err := os.ReadFile(filepath.Join(dir, "said.txt"))
	if err != nil || strings.TrimSpace(string(said)) != "one" {
		t.Errorf("the machine was told %q, %v", said, err)
	}
	p.Open(base + "/changes")
	p.WaitText(".file-path", "made.txt")
	p.Wait(`document.querySelector('#commit-open') !== null && !document.querySelector('#changes-state').textContent.includes('offline')`)
}
