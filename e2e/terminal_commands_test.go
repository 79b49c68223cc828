package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A shell's commands: a list with results, navigation between them, and their output in the next
// message.
func TestCommandsOfATerminal(t *testing.T) {
	t.Parallel()
	x := openTerminals(t)
	p := x.owner
	x.shell()
	p.Click(`[data-term=commands]`)
	p.Says(".commands .none", "appear here")
	printed := func(last string) { // text typed before the prompt appears is part of the output
		t.Helper()
		p.Wait(`(b => b.getLine(b.baseY + b.cursorY - 1)?.translateToString(true).startsWith('` + last + `'))(` + termIn(0) + `.buffer.active)`)
		prompted(p, 0)
	}
	run(p, 0, `echo first; seq 100`)
	printed("100")
	run(p, 0, `printf 'a\033[31mb\033[m\n'; ls /nowhere`)
	p.Says(".commands", "Exit 2")
	printed("ls: ")
	run(p, 0, `echo last; seq 100`)
	ended := func(n int) {
		t.Helper()
		p.Wait(fmt.Sprintf(`document.querySelectorAll('.command').length === %d && ![...document.querySelectorAll('.command .sr-only')].some(e => e.textContent === 'Running')`, n))
	}
	ended(3)
	if got := Eval[string](p,
		`[...document.querySelectorAll('.command')].map(e => e.querySelector('.sr-only').textContent + ':' + e.querySelector('code').textContent.slice(0, 10)).join('|')`); got != "Done:echo first|Exit 2:printf 'a\\|Done:echo last;" {
		t.Errorf("the list says %s", got)
	}
	printed("100")

	top := func(line string) string {
		return `(() => { const b = ` + termIn(0) +
			`.buffer.active; let s = ''; for (let i = 0; i < 3; i++) s += b.getLine(b.viewportY + i).translateToString(true) + '\n'; return s.includes('` + line + `'); })()`
	}
	Eval[any](p, termIn(0)+`.focus()`)
	p.Press(kb.ArrowUp, chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(top("echo last; seq 100"))
	p.Press(kb.ArrowUp, chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(top("ls /nowhere"))
	p.Press(kb.ArrowUp, chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(top("echo first; seq 100"))
	p.Press(kb.ArrowDown, chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(top("ls /nowhere"))
	p.Click(`.command:nth-of-type(1) .command-line`)
	p.Wait(top("echo first; seq 100"))
	p.Pictures("list", ".commands")
	run(p, 0, `printf '$ echo first; seq 100\n%.0s' 1 2 3; seq 60; echo first; seq 100; echo over`)
	ended(4)
	printed("over")
	at := func(n int, below string) {
		t.Helper()
		p.Click(fmt.Sprintf(`.command:nth-of-type(%d) .command-line`, n))
		defer func() {
			if t.Failed() {
				t.Logf("the terminal: %s", Eval[string](p, `(b => JSON.stringify({type: b.type, at: b.viewportY, base: b.baseY, length: b.length,
					shown: [0, 1, 2, 3].map(i => b.getLine(b.viewportY + i)?.translateToString(true)),
					ids: [...document.querySelectorAll('[data-jump]')].map(e => e.dataset.jump),
					found: [...Array(b.length).keys()].map(i => [i, b.getLine(i).translateToString(true)]).filter(l => /echo|first|last|over/.test(l[1]))
				}))(`+termIn(0)+`.buffer.active)`))
			}
		}()
		p.Wait(`(() => { const b = ` + termIn(0) +
			`.buffer.active; return b.getLine(b.viewportY + (b.viewportY && 1) + 1).translateToString(true) === '` +
			below + `' })()`)
	}
	for range 2 { // live, and after a reload
		at(1, "first")
		at(4, "$ echo first; seq 100")
		at(2, "ab")
		at(3, "last")
		p.Open(x.prog.URL + x.base)
		p.Live()
		ended(4)
		printed("over")
	}

	code, text := Eval[string](p, `document.querySelector('.command:nth-of-type(2) [data-copy]').href`), ""
	p.Open(code)
	if text = p.Text("body"); !strings.HasPrefix(text, "ab\n") || !strings.Contains(text, "/nowhere") {
		t.Errorf("the output of a command is %q", text)
	}
	p.Open(x.prog.URL + strings.TrimSuffix(x.base, "/t"))
	p.Fill("#message", "look at this:")
	p.Open(x.prog.URL + x.base)
	p.Click(`.command:nth-of-type(2) [href*=quote]`)
	p.Wait(`document.activeElement?.id === 'message' && !location.search`)
	want := "look at this:\n\n```console\n$ printf 'a\\033[31mb\\033[m\\n'; ls /nowhere\nab\nls: cannot access " +
		"'/nowhere': No such file or directory\n[exit 2]\n```\n"
	if got := Eval[string](p, `document.getElementById('message').value`); got != want {
		t.Errorf("the message is\n%q, not\n%q", got, want)
	}
	p.Pictures("attached", "#message")
	p.Open(x.prog.URL + strings.TrimSuffix(x.base, "/t"))
	if got := Eval[string](p, `document.getElementById('message').value`); got != want {
		t.Errorf("loaded anew the message is %q", got)
	}
}
