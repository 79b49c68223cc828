package e2e

import "testing"

// A screen reader announces the start and the end of a streamed answer, but not its words.
func TestStreamsAreNotReadOut(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say ready")
	ana.WaitText("#status", "Idle")
	Eval[bool](ana, `(window.heard = 0, new MutationObserver(l => { for (const m of l) if (m.target.parentElement?.closest('[aria-live], [role=status], [role=alert]') || m.target.closest?.('[aria-live], [role=status], [role=alert]')) heard++ })
		.observe(document.body, {subtree: true, childList: true, characterData: true}), true)`)
	ana.Fill("#message", "count 60 5")
	ana.Press("\r")
	ana.WaitText("#turns .turn:last-child", "60")
	ana.WaitText("#said", "finished")
	if n := Eval[int](ana, "heard"); n < 2 || n > 4 {
		t.Errorf("live regions changed %d times", n)
	}
}
