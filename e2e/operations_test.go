package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestOperations takes changes from the review to a commit, viewed by two people, one of them a
// guest without the right.
func TestOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(second, last string) string {
		return "1\n" + second + "\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" + last + "\n"
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Host")
	git("config", "user.email", "host@example.org")
	write("a.txt", lines("2", "12"))
	git("add", "-A")
	git("commit", "-qm", "first")
	write("a.txt", lines("two", "twelve"))
	write("b.txt", "b\n")

	prog := Start(t, Options{Dir: dir, Args: []string{"--agent", "script", "--owner-name", "Ana"},
		Env: []string{"GIT_CONFIG_GLOBAL=" + os.DevNull}})
	b := OpenBrowser(t)
	ana, ben := b.Page(), b.Page()
	ana.SignIn(prog)
	session := newSession(ana, prog, "say hello")
	join(ben, share(ana, prog, session, "viewer"), "Ben")
	review := prog.URL + session + "/changes?scope=uncommitted"
	ben.Open(review)
	ana.Open(review)
	ana.Click("#commit-open")
	ana.WaitText("#op-commit", "0 of 2 files staged")
	ana.Press("\x1b")
	if shown := Eval[int](ben,
		`[...document.querySelectorAll('#ops, #more-ops, #finish, .file-op, .file-menu')].filter(e => e.checkVisibility()).length`); shown > 0 {
		t.Errorf("a guest sees %d operations", shown)
	}

	file := func(name string) string { return fmt.Sprintf(`.file[data-path="%s"]`, name) }
	ana.Click(file("a.txt") + " .file-menu > summary")
	ana.Click(file("a.txt") + ` .file-op[value="stage"]`)
	ana.WaitText(file("a.txt")+" .stg", "Staged")
	ben.WaitText(file("a.txt")+" .stg", "Staged") // all viewers see the same
	if got := git("diff", "--cached", "--name-only"); got != "a.txt" {
		t.Errorf("staged is %s", got)
	}

	write(".git/hooks/pre-commit", "#!/bin/sh\necho 'a.txt: not like that'\nexit 1\n")
	ana.Allow("409")
	ana.Click("#commit-open")
	ana.Wait("document.activeElement?.id === 'op-message'")
	ana.Type(strings.Repeat("long ", 15))
	ana.WaitText("#op-hint", "The summary has 75 characters")
	ana.Click("#op-commit form .btn.main")
	ana.WaitText("#op-commit .note pre", "a.txt: not like that")
	ana.WaitText("#op-hint", "The summary has 75 characters")
	if kept := Eval[string](ana, `document.querySelector('#op-message').value`); !strings.HasPrefix(kept, "long long") {
		t.Errorf("the message became %q", kept)
	}
	ana.Shot("refused")
	if err := os.Remove(filepath.Join(dir, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	ana.Do(chromedp.SetValue("#op-message", "Say it in words"))
	ana.Click("#op-commit form .btn.main")
	ana.Wait(`!document.querySelector('#op-commit:popover-open') && !document.querySelector('#op-notes .note')`)
	if got := git("log", "-1", "--format=%an: %s"); got != "Ana: Say it in words" {
		t.Errorf("the commit is %s", got)
	}

	ana.Click("#more > summary")
	ana.Click("#more-ops [popovertarget=op-take]")
	ana.WaitText("#op-take .taken", "b.txt")
	ana.Shot("confirm")
	ana.Click("#op-take form .btn.bad")
	ana.WaitText("#ops .undo", "Undo discard (1 file)")
	ana.Shot("discarded")
	ana.Click("#ops .undo button")
	ana.Wait(fmt.Sprintf(`document.querySelector('%s') && !document.querySelector('#ops .undo')`, file("b.txt")))

	write("a.txt", lines("zwei", "zwölf"))
	ana.Wait(fmt.Sprintf(`document.querySelectorAll('%s .h[data-k]').length === 2`, file("a.txt")))
	ana.Do(chromedp.ScrollIntoView(file("a.txt")))
	hunk := fmt.Sprintf(`[...document.querySelectorAll('%s .h[data-k]')][1]`, file("a.txt"))
	Eval[bool](ana, hunk+`.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))`)
	discard := hunk + `.querySelector('form:has([value=discard]) button')`
	Eval[bool](ana, discard+`.click() ?? true`)
	ana.Wait(discard + `.textContent.startsWith('Click again to')`)
	Eval[bool](ana, discard+`.click() ?? true`)
	ana.Wait(fmt.Sprintf(`!document.querySelector('%s').textContent.includes('zwölf')`, file("a.txt")))
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(data) != lines("zwei", "twelve") {
		t.Errorf("discarding a hunk left %q, %v", data, err)
	}
	ana.Open(prog.URL + "/audit")
	for _, op := range []string{"stage", "commit", "discard", "undo"} {
		ana.Says("main", "changed files with an operation: "+op)
	}
	git("fsck", "--full", "--strict")
}
