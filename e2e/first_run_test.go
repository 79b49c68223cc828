package e2e

import (
	"strings"
	"testing"
)

// With no agent but Shell, the first pages tell only the owner how to add one, and what else is
// missing. A guest sees the session and their role, with theme and help. The pages can be installed
// as an app.
func TestFirstRunAndGuestsKnowWhereTheyAre(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}, Env: []string{"PATH=" + t.TempDir()}})
	b := OpenBrowser(t)
	ana, ben := b.Page(), b.Page()
	ana.SignIn(prog)
	ana.Says("#inbox .note", "Git wasn't found. Without it, changes can't be shown or reviewed. Install Git")
	ana.Says("#inbox .empty", "No coding agent was found on this server.")
	ana.Pictures("first-inbox", "#inbox")
	ana.Click("#inbox .empty a.main")
	ana.Says("main .note", "Git wasn't found.")
	for _, command := range []string{"npm install --global opencode-ai", "opencode auth login", "ahphub doctor",
		"looked for claude-agent-acp, gemini"} {
		ana.Says(".first-agent", command)
	}
	ana.Pictures("first-run", ".first-agent")
	ana.Says(".first-agent", "npm was not found")
	icons := awaited[string](ana, `(async () => {
		const m = await (await fetch(document.querySelector('link[rel=manifest]').href)).json(), sizes = [];
		for (const i of m.icons) { const img = new Image(); img.src = i.src; await img.decode(); sizes.push(img.naturalWidth); }
		return [m.start_url, m.display, ...sizes].join(' ');
	})()`)
	if icons != "/ standalone 192 512" {
		t.Errorf("the app is %s", icons)
	}

	session := newSession(ana, prog, "echo hello")
	join(ben, share(ana, prog, session, "commenter"), "Ben")
	ben.Says(".guest-bar .brand", "ahphub")
	ben.Wait("document.querySelector('.guest-bar p').innerText === 'You are Ben · Commenter'")
	if text := Eval[string](ben, "document.body.innerText"); strings.Contains(text, "Git") {
		t.Errorf("a guest is told what the server lacks: %s", text)
	}
	ben.Pictures("guest", ".guest-bar")
	ben.Click(".guest-bar button[name=theme]")
	ben.Wait("document.documentElement.dataset.theme && document.querySelector('.guest-bar')")
	ben.Live()
	ben.Click(".guest-bar [data-help]")
	ben.Wait("document.querySelector('#help').open")
	if Eval[bool](ana, "!!document.querySelector('.guest-bar')") {
		t.Error("the owner has the bar of a guest")
	}
}
