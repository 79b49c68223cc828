package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A long command runs while the chat continues: moved to the background by a click or started there
// with &, listed with its terminal, and stopped from the list.
func TestCommandsGoOnInTheBackground(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	ana := OpenBrowser(t).Page()
	ana.SignIn(p)
	ana.Open(p.URL + "/new")
	ana.Fill("#dir", t.TempDir())
	ana.Fill("#message", "mkdir here; cd here; sleep 600")
	ana.Press("\r", chromedp.ModifierCtrl)
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
	allow := func() {
		ana.Click(".approval button[data-kind=approve]")
		ana.Wait("!document.querySelector('.approval')")
	}
	allow()
	ana.Click(".tool form[action$='/background'] button")
	ana.WaitText("#background", "sleep 600")
	ana.WaitText("#status", "Idle")

	ana.Fill("#message", "sleep 700 &")
	ana.Press("\r")
	allow()
	ana.Wait("document.querySelectorAll('#background > *').length === 2")
	ana.Fill("#message", "cd /; export WORD=kept")
	ana.Press("\r")
	allow()
	ana.WaitText("#status", "Idle")
	ana.Fill("#message", "pwd; echo $WORD")
	ana.Press("\r")
	allow()
	ana.Wait(`[...document.querySelectorAll('#turns pre.out')].at(-1)?.innerText.trim() === '/\nkept'`)
	ana.Pictures("list", "#background")

	ana.look(320, 640, "light")
	if wide := Eval[string](ana,
		`[...document.querySelectorAll('#main *')].filter(e => e.getBoundingClientRect().right > 321 && !e.closest('.cut, pre')).map(e => e.outerHTML.slice(0, 120)).join('\n')`); wide != "" {
		t.Errorf("on a phone these stand out of the page:\n%s", wide)
	}
	ana.look(1440, 900, "light")

	for _, left := range []string{"1", "0"} {
		ana.Click("#background form button")
		ana.Wait("document.querySelectorAll('#background > *').length === " + left)
	}
	if log := p.Log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		t.Errorf("the program's log:\n%s", log)
	}
}
