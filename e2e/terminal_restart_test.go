package e2e

import (
	"strings"
	"testing"
)

// A broken connection is restored within a second with the same screen; text typed meanwhile is not
// lost, and a killed host shows its terminals as ended, with their output.
func TestTerminalComesBack(t *testing.T) {
	t.Parallel()
	x := openTerminals(t)
	p := x.owner
	p.Allow("WebSocket|Failed to load|ERR_CONNECTION")
	x.shell()
	run(p, 0, `printf '\e[1;31mred\e[m \u65e5\u672c \U0001F680 e\u0301\n'; seq 60; echo on$((1+1))`)
	p.Wait(shows(0) + `.includes('on2') && ` + shows(0) + `.endsWith('$')`)
	before := Eval[string](p, cells)
	Eval[any](p, inFrame(0, `(document.getElementById('term').frame.screens = 0, document.getElementById('term').frame.hangUp())`))
	p.Wait(inFrame(0, `document.getElementById('term').frame.screens === 1`))
	if after := Eval[string](p, cells); after != before {
		was := strings.Split(before, "\n")
		for i, line := range strings.Split(after, "\n") {
			if i >= len(was) || was[i] != line {
				t.Errorf("line %d of the screen is\n%s\nand was\n%s", i, line,
					strings.Join(was[min(i, len(was)):min(i+1, len(was))], ""))
			}
		}
	}
	Eval[any](p, inFrame(0, `(document.getElementById('term').frame.hangUp(), document.getElementById('term').frame.type('echo lat\x65r$((1+1))\r'))`))
	p.Wait(shows(0) + `.includes('later2')`)

	run(p, 0, `i=0; while :; do i=$((i+1)); echo tick$i; sleep 0.5; done`)
	p.Wait(shows(0) + `.includes('tick9')`)
	x.prog.Kill9()
	p.Wait(inFrame(0, `document.getElementById('who').textContent === 'Reconnecting…'`))
	x.prog.Restart()
	p.Wait(inFrame(0, `document.body.dataset.held === 'over'`))
	p.Says(".restarted", "ahphub restarted")
	// Output is saved once a second; tick3 was printed three seconds before. The end is known
	// before xterm.js has drawn the output before it, so the test waits for the screen.
	p.Wait(shows(0) + `.includes('later2') && ` + shows(0) + `.includes('tick3')`)
	p.Pictures("restarted", ".termpane")
}

// cells returns a screen with its colours and the widths of its characters, without invisible
// spaces.
const cells = `(() => { const t = document.querySelector('.termframe').contentDocument.getElementById('term').xterm, b = t.buffer.active; let s = t.cols + 'x' + t.rows + ' ' + b.cursorX + ',' + b.cursorY + '\n';
	for (let i = 0; i < b.length; i++) { const l = b.getLine(i); for (let j = 0; j < l.length; j++) { const c = l.getCell(j); if (c.getChars().trim() || c.getBgColor() > 0) s += j + c.getChars() + c.getWidth() + '/' + c.getFgColor() + (c.isBold() ? 'b' : '') + ' '; } s += '\n'; } return s.trimEnd(); })()`
