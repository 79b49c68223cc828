package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A tool call's terminal is in the chat while its command runs: as high as its content, readable,
// also on a phone; and typing there takes control.
func TestTerminalOfAToolCall(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	p.Open(prog.URL + "/new")
	p.Fill("#dir", t.TempDir())
	p.Fill("#message", `echo what; read x; seq 40; printf '%080d' 7; read x`)
	p.Press("\r", chromedp.ModifierCtrl)
	p.Wait("location.pathname.startsWith('/s/')")
	p.Live()
	p.Click(".approval button[data-kind=approve]")
	p.Wait(`document.querySelector('.term-live')`)
	p.Unfold(".tool details.fold")
	frame := func(expression string) string {
		return `((f, window, document, term) => term && (` + expression +
			`))(...(f => [f, f.contentWindow, f.contentDocument, f.contentDocument.getElementById('term').xterm])(document.querySelector('.term-live')))`
	}
	const shown = `Array.from({length: term.buffer.active.length}, (_, i) => term.buffer.active.getLine(i).translateToString(true)).join('\n')`
	p.Wait(frame(shown + `.includes('what')`))
	const fits = `(s => Math.min(s.rows, s.lines) * s.height / s.rows <= document.getElementById('term').clientHeight + 1 && f.offsetHeight < 60 + (s.lines + 1) * s.height / s.rows)` +
		`({rows: term.rows, height: document.querySelector('.xterm-screen').offsetHeight, lines: `
	p.Wait(frame(fits + `3})`))
	p.Pictures("small", ".tool")
	p.Click(".term-ref a")
	p.Wait(`document.querySelector('.termframe')`)
	p.Live()
	p.Click(".termstate button[value=me]")
	p.Says(".termpane.is-mine", "You're in control")
	Eval[any](p, termIn(0)+`.focus()`)
	p.Press("\r")
	p.Wait(shows(0) + `.includes('00007')`)
	p.Follow(".tabs a[data-go='g c']")
	p.Unfold(".tool details.fold")
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Wait(frame(shown + `.includes('00007') && term.options.fontSize >= 11 && ` + fits +
			`Math.min(term.rows, 30)})`))
		if Eval[bool](p, `document.documentElement.scrollWidth > innerWidth`) {
			t.Errorf("%s: the page scrolls sideways", l.name)
		}
	}
	p.Pictures("whole", ".tool")
}
