package e2e

import (
	"fmt"
	"testing"
)

// A session is deleted from the menu beside its title, disappears for all viewers, and is restored
// with its history.
func TestDeletingASession(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	p := b.Page()
	p.SignIn(prog)
	session := newSession(p, prog, "say remember me")
	p.Says("#turns", "remember me")
	other := b.Page()
	other.Allow("404") // of the deleted session
	other.SignIn(prog)
	other.Open(prog.URL + session)
	other.Wait(`document.documentElement.dataset.live === 'on'`)
	p.Open(prog.URL + session)
	p.Click("#head details.menu > summary")
	p.Shot("menu")
	p.Click("#head form[action$='/delete'] button")
	p.Wait(`location.pathname === '/deleted' && document.readyState === 'complete'`)
	p.Says("#main", "Restore")
	other.Says("#main", "not found")
	p.Wait(`!document.querySelector('#rail a[href="` + session + `"]')`)
	for _, look := range []struct {
		w, h   int64
		scheme string
	}{{1440, 900, "light"}, {1440, 900, "dark"}, {390, 844, "light"}} {
		p.look(look.w, look.h, look.scheme)
		p.Shot(fmt.Sprint("deleted-", look.scheme, look.w))
		for _, f := range axeFindings(p) {
			t.Errorf("%s at %d: %s %v", look.scheme, look.w, f.Rule, f.Nodes)
		}
	}
	p.Click("form[action^='/deleted/'] button")
	p.Wait(`location.pathname.startsWith('` + session + `')`)
	p.Says("#turns", "remember me")
}
