package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The palette finds sessions, files and commands, says when it finds none, and closes on Esc whatever was typed.
func TestPalette(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "write notes.txt remember\nsay done")
	ana.Click(".asks button[data-kind=approve]")
	ana.WaitText("#turns", "done")
	ana.WaitText(".filelist", "notes.txt")
	open := func() {
		t.Helper()
		ana.Press("k", chromedp.ModifierCtrl)
		ana.Wait("document.activeElement?.id === 'palette-q'")
	}
	open()
	ana.Type("zzz")
	ana.WaitText("#palette-list", "No results")
	ana.Press("\x1b")
	ana.Wait("!document.querySelector('#palette').open")
	open()
	for query, want := range map[string]string{"write not": "Sessions", "threads": "This session", "notes.t": "Sessions,Files", "archive s": "Commands"} {
		Eval[bool](ana, "(document.querySelector('#palette-q').value = '', true)")
		ana.Type(query)
		ana.Wait("[...document.querySelectorAll('#palette-list h3')].map((h) => h.textContent).join() === '" + want + "'")
	}
	Eval[bool](ana, "(document.querySelector('#palette-q').value = '', true)")
	ana.Type("keyboard")
	ana.Press("\r")
	ana.Wait("document.querySelector('#help').open && !document.querySelector('#palette').open")
	ana.Press("\x1b")
	open()
	ana.Type("changes")
	ana.Press("\r")
	ana.Wait("location.pathname.endsWith('/changes')")
}

// Esc closes an open menu and returns the focus to its button, also from the field inside.
func TestEscapeClosesMenu(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say hello")
	const button = "summary[aria-label=\"Session menu\"]"
	for _, inside := range []string{button, "#new-title"} {
		ana.Click(button)
		ana.Wait("document.querySelector('" + button + "').parentElement.open")
		Eval[bool](ana, "(document.querySelector('"+inside+"').focus(), true)")
		ana.Press("\x1b")
		ana.Wait("!document.querySelector('" + button + "').parentElement.open && document.activeElement.matches('" + button + "')")
	}
}

// A chat that another one starts appears among the tabs of open pages, and the current one stays marked.
func TestNewChatAppearsInTabs(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "spawn say from the helper\nsay done")
	ana.WaitText("#turns", "done")
	ana.Wait("document.querySelectorAll('#chats a').length === 2 && document.querySelectorAll('#chats a[aria-current]').length === 1")
}

// Who reads further up is shown that the turn below goes on, also while nothing but its text grows.
func TestPillWhileTurnStreams(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say "+strings.Repeat("a long answer that fills the page ", 300)+"\ncount 4000 5")
	ana.WaitText("#turns", "fills the page")
	Eval[bool](ana, "(document.querySelector('#scroll').scrollTop = 0, true)")
	ana.Wait("(document.querySelector('#scroll').scrollTop = 0, !document.querySelector('#new-pill').hidden)")
	if text := ana.Text("#new-pill"); !strings.Contains(text, "ew") {
		t.Errorf("the pill says %q", text)
	}
	ana.Click("#new-pill")
	ana.Wait("document.querySelector('#new-pill').hidden")
}
