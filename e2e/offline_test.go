package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const banner = "document.querySelector('#conn').checkVisibility()"

// A page that loses its stream says so, whether the server ends or the network fails silently, and
// nothing on it looks live until the stream is back.
func TestPageSaysWhenItIsOffline(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	f := openFront(t, prog)
	p := OpenBrowser(t).Page()
	p.Allow(`WebSocket|Failed to load resource`)
	p.look(1440, 900, "light")
	p.signInBy(f, prog)
	p.Open(f.URL + "/new?agent=script")
	p.Fill("#dir", t.TempDir())
	p.Fill("#message", "hold")
	p.Press("\r", chromedp.ModifierCtrl)
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	p.WaitText("#status", "Running")
	alive := "getComputedStyle(document.querySelector('#status .run')).color"
	running := Eval[string](p, alive)

	f.cutOff() // connections stay open
	start := time.Now()
	p.Wait(banner)
	t.Logf("the banner came after %v", time.Since(start))
	p.WaitText("#conn", "Connection lost. Reconnecting…")
	if now := Eval[string](p, alive); now == running {
		t.Error("what runs looks as alive as before")
	}
	p.Wait("getComputedStyle(document.querySelector('#status .run > span'), '::after').content.includes('?')")
	p.Pictures("lost", "#status")
	f.mend()
	p.Wait("!" + banner + " && " + live)
	p.Says("#said", "Connected again")
	if now := Eval[string](p, alive); now != running {
		t.Error("what runs does not look alive again")
	}

	Eval[any](p, "window.realNow = Date.now, Date.now = () => realNow() + 15000, null") // the stream seems silent for long
	p.Wait("document.documentElement.dataset.live === 'off'")
	Eval[any](p, "Date.now = window.realNow, null")
	p.Wait("!" + banner + " && " + live)

	Eval[any](p, "dispatchEvent(new Event('offline')), null")
	if !Eval[bool](p, banner) {
		t.Error("the browser says that it is offline, and the page does not")
	}
	p.Wait("!" + banner + " && " + live) // messages from the server still arrive

	prog.Kill9()
	p.Wait(banner)
	prog.Restart()
	p.Wait("!" + banner + " && " + live)
	p.Fill("#message", "say back again")
	p.Press("\r")
	p.WaitAnswer("back again")
}
