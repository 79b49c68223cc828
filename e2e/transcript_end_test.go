package e2e

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// A viewer at the end of a transcript, or who has just sent a message, sees new text; a viewer
// further up stays there.
func TestNewestTurnStaysVisible(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	p.look(1000, 500, "light")
	p.Open(prog.URL + "/new")
	p.Fill("#dir", t.TempDir())
	p.Fill("#message", "seq 40")
	p.Press("\r", chromedp.ModifierCtrl)
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	const approve = ".approval button[data-kind=approve]"
	const inSight = `(b => b && b.getBoundingClientRect().top >= 0 && b.getBoundingClientRect().bottom <= document.querySelector('.below').getBoundingClientRect().top)(document.querySelector('` + approve + `'))`
	for range 3 {
		p.Wait(inSight)
		p.Click(approve)
		p.Wait(settled)
		Eval[any](p, "document.getElementById('scroll').scrollTop = 0, null")
		p.Click("#message")
		p.Type("seq 40")
		p.Press("\r")
	}
	p.Wait(inSight)

	got := awaited[[]bool](p, `(async () => {
		const { isAtEnd, scrollToEnd } = `+Module("patch.js")+`;
		const view = document.getElementById('scroll');
		const grow = () => { const d = document.createElement('div'); d.style.height = '300px'; document.getElementById('turns').append(d); };
		const scrolled = () => { view.dispatchEvent(new Event('scroll')); return isAtEnd(); };
		scrollToEnd();
		grow();
		const grew = scrolled();
		view.scrollTop -= 200;
		const up = scrolled();
		grow();
		const stillUp = scrolled();
		view.scrollTop = view.scrollHeight;
		return [grew, up, stillUp, scrolled()];
	})()`)
	if want := []bool{true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("at the end after it grew, went up, grew, and came back: %v, want %v", got, want)
	}
}
