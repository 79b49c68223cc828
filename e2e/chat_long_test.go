package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A long chat opens at its end, and scrolling loads older turns above without moving the visible
// text.
func TestOlderTurnsComeInAbove(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say "+strings.Repeat("first answer ", 30))
	ana.WaitText("#status", "Idle")
	for i := range 44 {
		Eval[bool](ana, fmt.Sprintf(
			"fetch(document.querySelector('#compose').action, {method: 'POST', headers: {'X-Fragment': 'form'}, "+
				"body: new URLSearchParams({text: 'say answer %d %s'})}), true", i, strings.Repeat("with words ", 40)))
		ana.Wait(fmt.Sprintf("document.querySelectorAll('#turns .turn').length === %d && "+
			"!document.querySelector('#composer-mode').dataset.running", i+2))
	}
	ana.Open(Eval[string](ana, "location.origin + location.pathname"))
	ana.Live()
	ana.Wait("(s => s.scrollTop + s.clientHeight > s.scrollHeight - 2)(document.querySelector('#scroll'))")
	if n := Eval[int](ana, "document.querySelectorAll('#turns .turn').length"); n > 20 {
		t.Errorf("%d turns are in the first page", n)
	}
	// A turn's position on the screen before and after older ones are added above it.
	Eval[bool](ana, `(() => {
		const s = document.querySelector('#scroll');
		s.scrollTop = 500;
		window.mark = document.querySelector('#turns .turn');
		window.stood = mark.getBoundingClientRect().top;
		return true
	})()`)
	ana.Wait("document.querySelectorAll('#turns .turn').length > 20")
	if moved := Eval[float64](ana, "Math.abs(mark.getBoundingClientRect().top - stood)"); moved > 2 {
		t.Errorf("what was read jumped by %.0f px", moved)
	}
	for range 3 {
		Eval[bool](ana, "(document.querySelector('#scroll').scrollTop = 0, true)")
	}
	ana.Wait("(document.querySelector('#scroll').scrollTop = 0, document.querySelectorAll('#turns .turn').length === " +
		"45 && !document.querySelector('#earlier'))")
	if ids := Eval[int](ana, "new Set([...document.querySelectorAll('#turns .turn')].map(t => t.id)).size"); ids != 45 {
		t.Errorf("%d different turns of 45", ids)
	}
}
