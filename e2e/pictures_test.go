package e2e

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPictures takes screenshots of every page of a used server, light, dark and on a phone, with
// scroll bars:
//
//	AHPHUB_SHOTS=/tmp/shots go test ./e2e -run TestPictures
//
// AHPHUB_SHOTS_ONLY selects some of them, as in "inbox,changes".
func TestPictures(t *testing.T) {
	if os.Getenv("AHPHUB_SHOTS") == "" {
		t.Skip("AHPHUB_SHOTS names the directory for pictures of every page")
	}
	t.Parallel()
	prog := Start(t, Options{Demo: true})
	b := StartBrowser(t, chromedp.Flag("hide-scrollbars", false))
	w := &walk{Page: b.Page(), url: prog.URL, sessions: map[string]string{}, only: os.Getenv("AHPHUB_SHOTS_ONLY")}
	w.look(1440, 900, "light")
	w.SignIn(prog)
	w.WaitText("#inbox", "Ask me something")
	w.WaitText("#inbox", "Run the tests")
	for _, s := range Eval[[][2]string](w.Page, `[...document.querySelectorAll('#rail a.rail-item')].map(
		a => [a.querySelector('.title').textContent, a.getAttribute('href')])`) {
		w.sessions[s[0]] = s[1]
	}
	w.prepare()
	w.front()
	w.session()
	w.settings()
	w.guest(prog, b.Page(), b.Page())
	w.leave()
}

// walk takes screenshots of every page.
type walk struct {
	*Page
	url, only string
	sessions  map[string]string // title → path
}

// take opens a page and takes its screenshot in every look; after runs in each of them.
func (w *walk) take(name, path, ready string, after ...string) {
	w.t.Helper()
	takePicture(w.Page, w.only, name, w.url+path, ready, after...)
}

func takePicture(p *Page, only, name, address, ready string, after ...string) {
	p.t.Helper()
	if only != "" && !strings.Contains(","+only+",", ","+name+",") {
		return
	}
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Open("about:blank") // a changed fragment alone would not reload it
		p.Open(address)
		p.Wait(`document.readyState === 'complete' && document.querySelector(` + fmt.Sprintf("%q", ready) + `)`)
		for _, script := range after {
			Eval[bool](p, "(() => {"+script+"; return true})()")
		}
		p.look(l.width, l.height, l.scheme)
		p.Shot(name + "-" + l.name)
	}
}

// post sends a form as the owner and returns the redirect target.
func (w *walk) post(path string, form url.Values) string {
	w.t.Helper()
	return awaited[string](w.Page, fmt.Sprintf(
		"fetch(%q, {method: 'POST', body: new URLSearchParams(%q)}).then(r => r.ok ? new URL(r.url).pathname : r.text())",
		path, form.Encode()))
}

// prepare creates what the demo lacks: an automation, a deleted session, terminals with output.
func (w *walk) prepare() {
	w.post("/automations", url.Values{"title": {"Morning triage"}, "agent": {"script"}, "when": {"daily"},
		"time": {"07:30"}, "zone": {"Europe/Berlin"}, "enabled": {"yes"}, "message": {"Look at what came in overnight."},
		"dir": {w.dir()}})
	w.post(w.sessions["Fail"]+"/delete", url.Values{"delete": {"yes"}})
	tree := w.post("/new", url.Values{"agent": {"script"}, "dir": {w.dir()}, "config.isolation": {"worktree"},
		"message": {"say Done in a worktree of its own."}})
	w.sessions["worktree"] = strings.Join(strings.Split(tree, "/")[:3], "/")
	w.Open(w.url + w.sessions["Run the tests"] + "/t")
	w.Click(".empty form button, .termbar form button")
	w.Wait(`document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm`)
	w.Wait(`location.pathname.split('/').length > 4`)
	w.Wait(shows(0) + `.length > 0`)
	Eval[any](w.Page, termIn(0)+`.input("git log --oneline --graph; ls -la; printf '\\033[32mok\\033[m  \\033[31mfail\\033[m ┌──┐ │▐▌│ └──┘\\n'\r")`)
	w.Wait(shows(0) + `.includes('└──┘')`)
	w.sessions["terminal"] = Eval[string](w.Page, "location.pathname")
}

func (w *walk) dir() string {
	w.Open(w.url + "/new")
	return Eval[string](w.Page, `document.querySelector('#dir').value`)
}

// front takes the pages without a session.
func (w *walk) front() {
	w.take("inbox", "/", "#inbox")
	w.take("new", "/new", "#message")
	w.take("deleted", "/deleted", "main")
	w.take("automations", "/automations", "main")
	w.take("automation-new", "/automations/new", "#auto-form")
	w.take("help", "/", "#inbox", "document.querySelector('#help').showModal()")
	w.take("palette", w.sessions["Improve the README"], "#turns",
		"document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))")
	w.take("notfound", "/s/nowhere", "main")
	w.Allow("404")
}

// session takes the pages of a session.
func (w *walk) session() {
	for name, title := range map[string]string{"chat-answer": "Show me an answer", "chat-approval": "Run the tests",
		"chat-question": "Ask me something", "chat-tools": "Show every tool state", "chat-running": "Watch a long build",
		"chat-edits": "Greet in the language of the person", "chat-delegated": "Delegate it"} {
		w.take(name, w.sessions[title], "#turns")
	}
	greet := w.sessions["Greet in the language of the person"]
	w.take("chat-menu", greet, "#turns", "document.querySelector('[aria-label=\"Session menu\"]').closest('details').open = true")
	w.take("changes", greet+"/changes", "#review .r")
	w.take("changes-split", greet+"/changes?view=split", "#review")
	w.take("changes-comment", greet+"/changes", "#review .r", keyDown("n"), keyDown("c"))
	w.take("changes-thread", greet+"/changes", "#review .thr",
		"document.querySelector('.thr .thread').open = true; document.querySelector('.thr').scrollIntoView({block: 'center'})")
	w.take("chat-info", greet, "#info", "document.querySelector('#info').showModal()")
	w.take("changes-menu", greet+"/changes", "#more", "document.querySelector('#more').open = true")
	w.take("changes-commit", greet+"/changes?scope=uncommitted", "#op-commit", popover("#op-commit"))
	w.take("changes-new-branch", greet+"/changes?scope=uncommitted", "#op-commit .new-branch", popover("#op-commit"),
		"document.querySelector('.new-branch').open = true")
	w.take("changes-revert", greet+"/changes", "#op-take", popover("#op-take"))
	w.take("changes-discard", greet+"/changes?scope=uncommitted", "#op-take", popover("#op-take"))
	w.take("changes-submit", greet+"/changes", "#submit-review", popover("#submit-review"))
	w.take("threads", greet+"/threads", ".thr")
	w.take("threads-all", greet+"/threads?state=all", ".thr")
	w.take("terminal", w.sessions["terminal"], ".termframe")
	w.take("terminals-none", greet+"/t", "main")
	w.take("share", greet+"/share", ".linkform")
	w.take("customizations", greet+"/customizations", "main")
	w.take("worktree", w.sessions["worktree"]+"/worktree", "main")
}

// popover returns a script that opens a dialog of the review.
func popover(selector string) string {
	return fmt.Sprintf("document.querySelector(%q).showPopover()", selector)
}

// keyDown returns a script that presses a key without waiting for its effect.
func keyDown(key string) string {
	return fmt.Sprintf("document.dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true}))", key)
}

// settings takes the pages of the owner and their server.
func (w *walk) settings() {
	w.take("people", "/people", "main")
	w.take("audit", "/audit", "main")
	w.take("settings", "/settings", "main")
	w.take("notifications", "/settings/notifications", "main")
	w.take("account", "/account", "main")
	w.take("usage", "/usage", "main")
	w.take("machines", "/machines", "main")
}

// guest takes what unknown visitors and a link's guest see.
func (w *walk) guest(prog *Program, stranger, guest *Page) {
	stranger.Allow("401|403|404|428")
	greet := w.sessions["Greet in the language of the person"]
	link := share(w.Page, prog, greet, "commenter")
	takePicture(stranger, w.only, "signin", w.url+"/signin", "main")
	takePicture(stranger, w.only, "invitation", link, "[data-look]")
	takePicture(stranger, w.only, "invitation-over", w.url+"/j#0123456789abcdef0123456789", "main")
	guest.look(1440, 900, "light")
	join(guest, link, "Ben")
	takePicture(guest, w.only, "guest-chat", w.url+greet, "#turns")
	takePicture(guest, w.only, "guest-changes", w.url+greet+"/changes", "#review")
	takePicture(guest, w.only, "guest-notifications", w.url+"/settings/notifications", "main")
	w.look(1440, 900, "light")
	w.Open(w.url + greet) // the owner sees the guest
	w.Shot("chat-with-guest-light")
	guest.Open("about:blank")
}
