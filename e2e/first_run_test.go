package e2e

import "testing"

// With no agent but Shell the page of a new session says how to add one. A guest sees where they are and in which role, with
// theme and help. The pages can be installed as an app.
func TestFirstRunAndGuestsKnowWhereTheyAre(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}, Env: []string{"PATH=/usr/bin:/bin"}})
	b := OpenBrowser(t)
	ana, ben := b.Page(), b.Page()
	ana.SignIn(prog)
	ana.Open(prog.URL + "/new")
	for _, command := range []string{"npm install --global opencode-ai", "opencode auth login", "ahphub doctor",
		"looked for claude-agent-acp, gemini"} {
		ana.Says(".first-agent", command)
	}
	ana.Pictures("first-run", ".first-agent")
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
