package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// openComposer opens a chat's page through a front.
func openComposer(t *testing.T) (*front, *Page) {
	t.Helper()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	f := openFront(t, prog)
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.Allow(`/message\)|Failed to load resource`)
	ana.signInBy(f, prog)
	ana.Open(f.URL + "/new?agent=script")
	ana.Fill("#dir", t.TempDir())
	ana.Fill("#message", "say hello")
	ana.Press("\r", chromedp.ModifierCtrl)
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
	ana.WaitText("#status", "Idle")
	return f, ana
}

const (
	typedNow  = "document.querySelector('#message').value"
	saidTexts = "[...document.querySelectorAll('#turns .said .text')].map(e => e.textContent.trim()).join('|')"
)

// Each message has its own text, whatever is typed or sent while it is being sent, and is returned
// if it fails.
func TestComposerKeepsEachMessage(t *testing.T) {
	t.Parallel()
	f, ana := openComposer(t)
	sendsApart(t, f, ana)
	givesBack(t, f, ana)
	steersTwice(ana)
}

// Text typed during a send stays, and the next Enter sends it as a separate message.
func sendsApart(t *testing.T, f *front, ana *Page) {
	f.hold("/message")
	ana.Do(focus("#message"))
	ana.Type("say one")
	ana.Press("\r")
	ana.Wait(typedNow + " === ''")
	ana.Type("say two")
	ana.Press("\r")
	ana.Wait(typedNow + " === ''")
	ana.Type("and on I wri")
	ana.WaitText("#unsent", "Sending…")
	waitUntil(t, "the first message", func() error {
		if n := f.holding(); n != 1 {
			return fmt.Errorf("%d are under way", n)
		}
		return nil
	})
	f.let("/message")
	ana.Wait(saidTexts + " === 'say hello|say one|say two'")
	ana.Type("te")
	if text := Eval[string](ana, typedNow); text != "and on I write" {
		t.Errorf("what was typed meanwhile reads %q", text)
	}
	ana.Wait("!document.querySelector('#unsent')")
}

// A message that could not be sent is restored with its files and caret; text typed meanwhile is
// unchanged.
func givesBack(t *testing.T, f *front, ana *Page) {
	f.drop("/message")
	Eval[bool](ana, picture+"('paste'), true")
	ana.Wait("document.querySelector('#attached canvas')")
	ana.Fill("#message", "say lost")
	Eval[any](ana, "document.querySelector('#message').setSelectionRange(4, 4)")
	ana.Press("\r")
	ana.WaitText("#toast", "Can't reach the server")
	ana.Wait(typedNow + " === 'say lost' && document.querySelectorAll('#attached li').length === 1")
	ana.Type("never ")
	if text := Eval[string](ana, typedNow); text != "say never lost" {
		t.Errorf("the caret is elsewhere: %q", text)
	}

	f.hold("/message")
	ana.Press("\r")
	ana.Wait(typedNow + " === '' && !document.querySelector('#attached li')")
	ana.Type("say second")
	ana.Press("\r")
	ana.Type("say third")
	f.drop("/message")
	ana.Wait("document.querySelectorAll('#unsent .need').length === 2")
	ana.Says("#unsent li:first-child", "say never lost · 1 file")
	ana.Says("#unsent li:last-child", "say second")
	if text := Eval[string](ana, typedNow); text != "say third" {
		t.Errorf("what was typed meanwhile reads %q", text)
	}
	ana.Pictures("unsent", "#unsent")

	f.let("/message")
	ana.Click("#unsent li:first-child [data-do=again]")
	ana.Wait(saidTexts + " === 'say hello|say one|say two|say never lost' && document.querySelector('.thumb')")
	ana.Open(Eval[string](ana, "location.href")) // a reload keeps the other two
	ana.Live()
	ana.Says("#unsent", "say second")
	ana.Click("#unsent [data-do=again]")
	ana.Press("\r")
	ana.Wait(saidTexts + " === 'say hello|say one|say two|say never lost|say second|say third' && " +
		"!document.querySelector('#unsent')")
}

// A second steering message does not replace one that was not delivered yet.
func steersTwice(ana *Page) {
	ana.Fill("#message", "hold")
	ana.Press("\r")
	ana.Wait("document.querySelector('#composer-mode').textContent.includes('Send next')")
	for _, text := range []string{"say one", "say two"} {
		ana.Fill("#message", text)
		ana.Press("\r", chromedp.ModifierCtrl)
	}
	ana.Wait("document.querySelector('#composer').innerText.includes('say two')")
	ana.Click("#composer-mode .bad")
	ana.Wait("['say one', 'say two'].every(text => document.querySelector('main').innerText.includes(text))")
}
