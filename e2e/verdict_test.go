package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// agentEdits changes one file of the greeting module.
const agentEdits = `sed -i.old 's/Hello(name string)/Hello(lang, name string)/; s/"Hello, " + name/Word(lang) + ", " + name/' greet.go && rm greet.go.old`

// Two people judge an agent's changes: drafts become threads with a verdict, a click applies a
// suggestion, an approval is visible everywhere, and is withdrawn when the agent continues.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	b := OpenBrowser(t)
	ana, ben := b.Page(), b.Page()
	ana.look(1440, 900, "light")
	ben.look(1440, 900, "light")
	repo := greetRepository(t)
	ana.SignIn(prog)
	session := command(ana, prog, repo, agentEdits)
	join(ben, share(ana, prog, session, "commenter"), "Ben")
	ana.Open(prog.URL + session)
	ana.Live()

	ben.Open(prog.URL + session + "/changes?scope=session")
	ben.Live()
	draft := func(line string) {
		for range 60 {
			if Eval[bool](ben, `!!document.querySelector('.r.a.cur')?.innerText.includes(`+"`"+line+"`"+`)`) {
				break
			}
			ben.Press("j")
		}
		ben.Press("c")
		ben.Wait("document.activeElement?.matches('form.comment-form textarea')")
	}
	draft("func Hello(lang")
	ben.Type("@an")
	ben.Wait("document.querySelector('#names li')?.textContent === 'Ana'")
	ben.Press("\r")
	ben.Wait("document.activeElement?.value === '@Ana '")
	ben.Type("name the type of the first one")
	ben.Click("form.comment-form .suggest")
	ben.Wait("document.activeElement?.value.includes('```suggestion\\nfunc Hello(lang, name string) string {\\n```')")
	ben.Type("func Hello(lang string, name string) string {") // replaces the selection
	ben.Wait("document.querySelector('form.comment-form .saved')?.textContent === 'Saved'")
	ben.Press("\r", chromedp.ModifierCtrl)
	ben.Wait("!document.activeElement?.matches('textarea')")
	draft("Word(lang)")
	ben.Type("Where is Word?")
	ben.Press("\r", chromedp.ModifierCtrl)
	ben.Wait("document.querySelectorAll('form.comment-form.draft .chip').length === 2")
	ben.Says("#draftcount", "(2)")

	ben.Click("#finish")
	ben.Fill("#verdict-summary", "Nearly there: **two** things.")
	ben.Click("#verdict-form input[value=changes]")
	ben.Pictures("finish", "#verdict-form")
	ben.Click("#verdict-form button[value=give]")
	ben.Wait("document.querySelectorAll('.thr').length === 2 && !document.querySelector('form.comment-form.draft')")
	ben.Live()
	ana.Says("#verdicts", "Ben requests changes")
	ana.Open(prog.URL + "/")
	ana.Live()
	ana.Says("#inbox", "Ben requests changes")
	ana.Says("#inbox", "Ben mentioned you")

	ana.Open(prog.URL + session + "/threads")
	ana.Live()
	ana.Says("#verdict-list", "Nearly there: two things.")
	ana.Says(".thr .called", "@Ana")
	ana.Says(".suggest-rows .suggest-add", "func Hello(lang string, name string) string {")
	ana.Pictures("threads", ".suggest")
	if n := Eval[int](ana, "document.querySelectorAll('.thr').length"); n != 2 {
		t.Errorf("two drafts became %d threads", n)
	}
	if ben.hidden(".apply") != true {
		t.Error("a commenter is offered to write files")
	}
	ana.Click(".apply button[value=apply]")
	ana.Wait("document.querySelectorAll('.thread[data-state=resolved]').length === 1")
	if got, err := os.ReadFile(filepath.Join(repo, "greet.go")); err != nil || !strings.Contains(string(got),
		"func Hello(lang string, name string) string {") {
		t.Errorf("the file reads\n%s", got)
	}
	ben.Says(".thread[data-state=resolved]", "Applied the suggestion.")

	ben.Wait("[...document.querySelectorAll('.r.a')].some(r => r.textContent.includes('lang string, name string'))")
	ben.Click("#finish")
	ben.Click("#verdict-form input[value=approve]")
	ben.Click("#verdict-form button[value=give]")
	ben.Wait("document.querySelector('#verdicts .approve')")
	ben.Live()
	ana.Says("#verdicts", "Ben approved")
	ana.Open(prog.URL + "/")
	ana.Live()
	ana.Says("#inbox", "Ben approved")
	ana.Pictures("inbox-verdicts", "#inbox")
	if text := ana.Text("#inbox"); strings.Contains(text, "mentioned you") {
		t.Errorf("what was read and done is still announced: %s", text)
	}
	ana.Open(prog.URL + session + "/threads")
	ana.Live()
	ana.Says("#verdict-list", "Ben approved")

	more := b.Page()
	more.look(1440, 900, "light")
	more.SignIn(prog)
	more.Open(prog.URL + session)
	more.Live()
	more.Fill("#message", "echo 'package greet' > word.go")
	more.Press("\r", chromedp.ModifierCtrl)
	more.Click(".approval button[data-kind=approve]")
	ana.Says("#verdict-list", "cleared: 1 file changed")
	ana.Says("#verdict-list", "word.go")
	ben.Wait("!document.querySelector('#verdicts .approve')")
	ana.Pictures("withdrawn", "#verdict-list")
	exported(t, ben, session)
}

func (p *Page) hidden(selector string) bool {
	p.t.Helper()
	return Eval[bool](p, "![...document.querySelectorAll('"+selector+"')].some(e => e.offsetParent)")
}

// command starts a session of the shell agent in a directory, approves its first command, and waits
// for its end.
func command(p *Page, prog *Program, dir, line string) (session string) {
	p.t.Helper()
	p.Open(prog.URL + "/new")
	p.Fill("#dir", dir)
	p.Click("input[name=agent][value=shell]")
	p.Fill("#message", line)
	p.Click("main form[method=post] .btn.main")
	p.Wait(`/^\/s\/[^/]+/.test(location.pathname) && document.readyState === 'complete'`)
	p.Live()
	p.Click(".approval button[data-kind=approve]")
	p.Wait(settled)
	return strings.Join(strings.Split(Eval[string](p, "location.pathname"), "/")[:3], "/")
}

// exported reads the review as Markdown, and its patch with the comments, which git applies.
func exported(t *testing.T, reader *Page, session string) {
	t.Helper()
	md := reader.download(session + "/threads.md")
	for _, want := range []string{"# Review: ", "## Reviews", "Ben approved", "cleared: 1 file changed",
		"### `greet.go`", "Where is Word?", "resolved", session + "/changes#thread-"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is missing in\n%s", want, md)
		}
	}
	patch := reader.download(session + "/changes?as=patch&comments=1")
	if !strings.Contains(patch, "| > Where is Word?") {
		t.Errorf("the comments are missing in\n%s", patch)
	}
	fresh := greetRepository(t)
	name := filepath.Join(t.TempDir(), "review.patch")
	if err := os.WriteFile(name, []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", fresh, "apply", name).CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(fresh, "greet.go")); err != nil || !strings.Contains(string(got),
		"func Hello(lang string, name string) string {") {
		t.Errorf("git applied the patch to\n%s", got)
	}
}

// download requests a page like its viewer's browser.
func (p *Page) download(path string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("fetch('"+path+
		"').then(r => r.ok ? r.text() : Promise.reject(r.status))", chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
	return text
}
