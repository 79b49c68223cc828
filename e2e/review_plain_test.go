package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// scriptless is a person whose browser runs no scripts: everything is a link or a form.
type scriptless struct {
	*Page
	t       *testing.T
	prog    *Program
	dir     string
	session string // its path
}

// noScript disables scripts for all later pages.
func (p *Page) noScript() {
	p.t.Helper()
	p.plain = true
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
}

// to opens a page of the session.
func (p *scriptless) to(path string) {
	p.t.Helper()
	p.Open("about:blank")
	p.Open(p.prog.URL + p.session + path)
	p.Wait("document.readyState === 'complete' && document.getElementById('main')")
	if Eval[bool](p.Page, "'ahphub' in window") {
		p.t.Fatal("a script ran")
	}
}

// leaveBy clicks a link to another page, and waits for that page. It needs no scripts.
func (p *Page) leaveBy(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	Eval[bool](p, "document.documentElement.setAttribute('data-old', ''), true")
	p.Click(selector)
	p.Wait("!document.documentElement.hasAttribute('data-old') && document.readyState === 'complete' && " +
		"document.getElementById('main')")
}

// reload reloads a page until a condition is true.
func (p *scriptless) reload(path, condition string) {
	p.t.Helper()
	for range 100 {
		p.to(path)
		if Eval[bool](p.Page, "!!("+condition+")") {
			return
		}
	}
	p.t.Fatalf("%s never shows %s", path, condition)
}

func (p *scriptless) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// file opens a file's own page.
func (p *scriptless) file(name string) {
	p.t.Helper()
	p.to("/changes?scope=uncommitted")
	p.leaveBy(file(name) + " .file-path")
	p.Wait("location.pathname.includes('/changes/file/')")
}

// begin signs in by the form, creates a session, sends a command and approves it.
func (p *scriptless) begin() {
	p.t.Helper()
	at, token, _ := strings.Cut(p.prog.SignIn(), "#")
	p.Open(at)
	p.Fill("#token", token)
	p.leaveBy("form button.main")
	p.Open(p.prog.URL + "/new")
	p.Fill("#dir", p.dir)
	p.Click("input[name=agent][value=shell]")
	p.Fill("#message", agentEdits)
	p.leaveBy("main form[method=post] .btn.main")
	p.session = strings.Join(strings.Split(Eval[string](p.Page, "location.pathname"), "/")[:3], "/")
	p.reload("", "document.querySelector('.approval button[data-kind=approve]')")
	p.Shot("approval")
	p.leaveBy(".approval button[data-kind=approve]")
	p.reload("", "document.querySelector('#turns .turn:last-child .foot .num')")
	p.Says("#turns", "sed -i")
	p.Fill("#message", "echo 'a second line' >> notes.txt")
	p.leaveBy("#composer button.main")
	p.reload("", "document.querySelector('.approval button[data-kind=approve]')")
	p.leaveBy(".approval button[data-kind=approve]")
	p.reload("", "document.querySelectorAll('#turns .turn:has(.foot .num)').length === 2")
	p.Shot("chat")
}

// read views the changes in both layouts, and a folded file.
func (p *scriptless) read() {
	p.t.Helper()
	p.reload("/changes?scope=uncommitted", "document.querySelector('"+file("greet.go")+" .r.a')")
	p.Says(file("greet.go"), "Hello(lang, name string)")
	p.Shot("changes")
	p.leaveBy(".seg a[href*='view=split']")
	p.Wait("document.querySelector('.file-body.split')")
	p.leaveBy(file("go.sum") + " .load")
	p.Says(file("go.sum"), "v1.1.0")
}

// comment comments on a line and on a file: saved, then published with a verdict.
func (p *scriptless) comment() {
	p.t.Helper()
	p.file("greet.go")
	p.leaveBy(".r.a .ln")
	p.Fill("#comment textarea",
		"Which language?\n\n```suggestion\n// Hello greets in a language.\nfunc Hello(lang string, name string) "+
			"string {\n```")
	p.Shot("comment")
	p.leaveBy("#comment button[value=save]")
	p.Says("#draftcount", "(1)")
	p.Says("#drafts", "Which language?")
	p.leaveBy(file("greet.go") + " .cfile")
	p.Fill("#comment textarea", "Well done.")
	p.leaveBy("#comment button[value=comment]")
	p.Says(file("greet.go")+" .thr", "Well done.")
	p.Click("#finish")
	p.Fill("#verdict-summary", "Nearly.")
	p.Click("#verdict-form input[value=changes]")
	p.Shot("finish")
	p.leaveBy("#verdict-form button[value=give]")
	p.Says("#verdicts", "equests changes")
	p.Wait(`document.querySelector('#draftcount').textContent === ''`)
}

// threads answers a thread, applies a suggestion, and sends the rest to the agent.
func (p *scriptless) threads() {
	p.t.Helper()
	p.to("/threads?state=open")
	p.Says("#thread-list", "Which language?")
	p.Shot("threads")
	p.Fill(".thr .reply textarea", "I wonder, too.")
	p.leaveBy(".thr .reply button.main")
	p.to("/threads?state=open")
	p.Says("#thread-list", "I wonder, too.")
	p.leaveBy(".apply button[value=apply]")
	if got, err := os.ReadFile(filepath.Join(p.dir, "greet.go")); err != nil || !strings.Contains(string(got),
		"func Hello(lang string, name string) string {") {
		p.t.Errorf("the file reads\n%s", got)
	}
	p.to("/changes?scope=uncommitted")
	p.reload("", "document.querySelector('#turns .turn:nth-child(3)')?.textContent.includes('Well done.')")
	if md := p.body("/threads.md"); !strings.Contains(md, "I wonder, too.") || !strings.Contains(md, "Nearly.") {
		p.t.Errorf("exported is\n%s", md)
	}
	if patch := p.body("/changes?scope=uncommitted&as=patch&comments=1"); !strings.Contains(patch, "diff --git") ||
		!strings.Contains(patch, "Well done.") {
		p.t.Errorf("the patch is\n%s", patch)
	}
}

// body returns what a link downloads.
func (p *scriptless) body(path string) string {
	p.t.Helper()
	r := &reviewing{T: p.t, program: p.prog, base: p.prog.URL + p.session}
	_, text := r.get(path)
	return text
}

// operate marks a hunk and a file, reverts a hunk, stages a file and commits it.
func (p *scriptless) operate() {
	p.t.Helper()
	p.file("notes.txt")
	p.leaveBy(".h .hunk-mark")
	p.Wait("document.querySelector('" + file("notes.txt") + " .file-head').textContent.includes('1/2 hunks')")
	p.leaveBy(file("greet.go") + " .file-mark")
	p.Wait("document.querySelector('" + file("greet.go") + "[data-reviewed]')")
	p.file("notes.txt")
	p.leaveBy(".h .hunk-tools form:has([value=discard]) button")
	p.Says("main", "Discard")
	p.Shot("confirm")
	p.leaveBy("main form .btn.bad")
	p.reload("/changes?scope=uncommitted", "document.querySelectorAll('"+file("notes.txt")+" .h[data-k]').length < 2")
	if got, err := os.ReadFile(filepath.Join(p.dir, "notes.txt")); err != nil || string(got) != "first\n"+far+
		"a line\na second line\n" {
		p.t.Errorf("after discarding its first hunk, notes.txt is %q", got)
	}
	p.Click(file("greet.go") + " .file-menu > summary")
	p.leaveBy(file("greet.go") + " .file-menu .file-op[value=stage]")
	p.reload("/changes?scope=uncommitted", "document.querySelector('"+file("greet.go")+" .stg')")
	p.Click("#commit-open")
	p.Fill("#op-message", "Greet in a language")
	p.Shot("commit")
	p.leaveBy("#op-commit form .btn.main")
	if got := p.git("log", "-1", "--format=%an: %s"); got != "Ana: Greet in a language" {
		p.t.Errorf("the commit is %s", got)
	}
	p.reload("/changes?scope=uncommitted", "!document.querySelector('"+file("greet.go")+
		"') && document.querySelector('"+file("notes.txt")+"')")
}

// A whole review in a browser without scripts.
func TestReviewWithoutScripts(t *testing.T) {
	t.Parallel()
	dir := greetRepository(t)
	p := &scriptless{t: t, dir: dir, prog: Start(t, Options{Args: []string{"--owner-name", "Ana"}})}
	for name, text := range map[string]string{"notes.txt": "first\n" + far + "a line\n",
		"go.sum": "example.com/a v1.0.0 h1:a=\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.git("add", "-A")
	p.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "-qm", "Notes")
	p.git("config", "user.name", "Ana")
	p.git("config", "user.email", "ana@example.com")
	for name, text := range map[string]string{"notes.txt": "FIRST\n" + far + "a line\n",
		"go.sum": "example.com/a v1.1.0 h1:b=\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Page = OpenBrowser(t).Page()
	p.look(1440, 900, "light")
	p.noScript()
	p.Allow("428") // the confirmation page
	p.begin()
	p.read()
	p.comment()
	p.threads()
	p.operate()
	p.git("fsck", "--full", "--strict")
	p.leave()
}
