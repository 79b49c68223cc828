package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The composer has its settings inside the box and one send button: during a turn it queues, and
// its menu sends immediately; meanwhile there are a stop icon and the elapsed time.
func TestComposerHasOneSendButton(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(prog)
	ana.Open(prog.URL + "/new")
	ana.Fill("#dir", t.TempDir())
	ana.Fill("#message", "hold")
	ana.Press("\r", chromedp.ModifierCtrl)
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
	ana.Wait("document.querySelector('#composer-mode[data-running]') && document.querySelector('.elapsed')?.dataset.shown")
	const seen = "[...document.querySelectorAll('#compose :is(button, summary, select, .setting > b)')].filter(e => " +
		"e.checkVisibility()).map(e => e.ariaLabel || e.selectedOptions?.[0].text || e.innerText.trim()).join()"
	if got := Eval[string](ana, seen); got != "Script,Ask every time,Stop,Queue,Other ways to send" {
		t.Errorf("while a turn runs the composer has %s", got)
	}
	ana.Pictures("running", "#compose")
	ana.Fill("#message", "say queued")
	ana.Click("#composer-mode .btn.main")
	ana.WaitText("#queue", "say queued")
	ana.Fill("#message", "say first")
	ana.Click("#send-menu summary")
	ana.Pictures("menu", "#send-menu")
	ana.Click("#send-menu button")
	ana.WaitText("#queue", "say first")
	ana.Click("#composer-mode .stop")
	ana.Wait("[...document.querySelectorAll('.turn .said .text')].map(e => e.textContent).join() === 'hold,say first,say queued'")
	ana.Wait("!document.querySelector('#composer-mode[data-running]')")
	if got := Eval[string](ana, seen); got != "Script,Ask every time,Send" {
		t.Errorf("the composer has %s", got)
	}
	ana.Pictures("idle", "#compose")
}
