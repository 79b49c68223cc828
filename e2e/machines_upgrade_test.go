package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildRelease builds ahphub as another release.
func buildRelease(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ahphub")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-X main.version="+version, "-o", path,
		"../cmd/ahphub")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// startOn starts a session with the shell of the machine box2 in a directory there, and approves
// its first command.
func (p *Page) startOn(prog *Program, dir, command string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		p.Open(prog.URL + "/new")
		if Eval[bool](p, `[...document.querySelectorAll('.choice b')].some(b => b.textContent === 'box2')`) {
			break
		}
		if time.Now().After(end) {
			p.t.Fatal("no agent of the machine is offered")
		}
	}
	p.Click(".choice input[name=machine]:not([value=''])")
	p.WaitText("#place", "Shell on box2")
	p.Fill("#dir", dir)
	p.Fill("#message", command)
	Eval[any](p, `document.querySelector('button.main').click()`) // settings that arrive now would move it
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	p.Click(".asks button[data-kind=approve]")
}

// A hub is restarted, like for an upgrade, while a turn runs on a machine of another release: the
// machine reconnects, ends what it ran for the previous hub, the turn can be resumed, and both
// releases are shown.
func TestHubIsUpgradedWhileATurnRunsOnAMachine(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{})
	p := OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.SignIn(prog)
	p.Open(prog.URL + "/machines")
	Eval[any](p, `document.querySelector('form[action="/machines/tokens"] button').click()`)
	p.Wait(`document.querySelector('#made')?.value.startsWith('ahphub join ')`)
	command := strings.Fields(Eval[string](p, `document.querySelector('#made').value`))[2:]
	box := newMachine(t)
	box.program = buildRelease(t, "v0.0.1-other")
	box.join(append(command, "--name", "box2", "--sandbox", "none")...)
	p.Wait(card("box2", "Online", "Update", "ahphub v0.0.1-other", "Update the older one"))
	p.Pictures("machines", "#machines")
	if out := box.out.String(); !strings.Contains(out, "and this machine v0.0.1-other. Update the older one") {
		t.Errorf("the machine says\n%s", out)
	}
	box.isKnown(prog, `ahphub_machine_connections_total{machine="box2"} 1`, "machine box2 runs ahphub v0.0.1-other, and this is")

	dir := filepath.Join(box.home, "src")
	must(t, os.Mkdir(dir, 0o755))
	p.startOn(prog, dir, "while echo tick >> ticks; do sleep 0.1; done")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waitForFile(t, ctx, filepath.Join(dir, "ticks"))
	chat := Eval[string](p, "location.href")

	p.Allow("ERR_|WebSocket|status of") // while the hub is away
	prog.Stop()
	prog.Restart()
	p.Open(chat)
	p.Says("#turns .turn:last-child", "Interrupted by a restart")
	p.Open(prog.URL + "/machines")
	p.Wait(card("box2", "Online"))
	waitForStill(t, filepath.Join(dir, "ticks"))
	p.Open(chat)
	p.Wait(`!document.querySelector('#silent').textContent.includes('offline')`)
	p.Fill("#message", "echo after the upgrade")
	p.Press("\r")
	p.Click(".asks button[data-kind=approve]")
	p.Wait(`[...document.querySelectorAll('#turns > *')].at(-1).textContent.includes("exit 0")`)
}

// waitForStill waits until a file stops growing.
func waitForStill(t *testing.T, path string) {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	tick := time.NewTicker(time.Second) // ten times its interval of growth
	defer tick.Stop()
	for last, end := size(), time.After(patience); ; {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s goes on growing", path)
		}
		now := size()
		if now == last {
			return
		}
		last = now
	}
}
