package bench

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ahphub/ahphub/e2e"
)

// keepSockets lets a page cut its own connection, like a network failure.
const keepSockets = `{ const W = WebSocket; window.WebSocket = class extends W { constructor(...a) { super(...a); window.benchSocket = this; } }; }`

// watchKeys records when a key goes down and when its effect was painted: a task that waits for the
// frame that renders it runs right after that frame.
const watchKeys = `(() => {
  const t = document.getElementById('term').xterm, took = window.benchTook = [];
  let begun = 0, at = 0;
  document.addEventListener('keydown', (e) => { begun = e.timeStamp; at = t.buffer.active.cursorX; }, true);
  t.onRender(() => { if (begun && t.buffer.active.cursorX > at) { const b = begun; begun = 0; const c = new MessageChannel(); c.port1.onmessage = () => took.push(performance.now() - b); c.port2.postMessage(0); } });
})()`

// looks returns what a terminal shows: text, colours and cursor position.
const looks = `(() => {
  const b = document.getElementById('term').xterm.buffer.active, out = [b.type, b.cursorX, b.cursorY];
  for (let y = 0; y < b.length; y++) {
    const l = b.getLine(y);
    out.push(l.translateToString(true).trimEnd());
    for (let x = 0; x < 20; x++) { const c = l.getCell(x); out.push(c ? c.getFgColor() + c.getBgColor() + c.isBold() : ''); }
  }
  return out.join('|');
})()`

// BenchmarkTerminalBrowser measures in a browser: from a key to its glyph, idle and while another
// terminal floods, and from a cut connection to the same screen.
func BenchmarkTerminalBrowser(b *testing.B) {
	for b.Loop() {
		h := shellHost(b)
		c := h.browserLike(b)
		p := e2e.StartBrowser(b).Page()
		p.SignIn(h.Program)
		p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument,
				cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: keepSockets})
			return err
		}))
		p.Open(h.URL + h.shell(b, c) + "/frame")
		p.Wait(`document.getElementById('term').xterm && /[$#] ?$/.test(document.getElementById('term').xterm.buffer.active.getLine(document.getElementById('term').xterm.buffer.active.cursorY).translateToString(true))`)
		e2e.Eval[bool](p, `(document.getElementById('term').xterm.focus(), true)`)
		e2e.Eval[bool](p, `(`+watchKeys+`, true)`)
		keyToGlyph(b, p, "key-to-glyph")
		busy := h.shells(b)()
		busy.say(b, map[string]any{"i": "yes 0123456789012345678901234567890123456789012345678901234567890\r"})
		ctx, stop := context.WithCancel(b.Context())
		flooded := make(chan struct{})
		go func() {
			defer close(flooded)
			for busy.read(ctx) == nil {
			}
		}()
		e2e.Eval[bool](p, `(benchTook.length = 0, true)`)
		keyToGlyph(b, p, "busy-key-to-glyph")
		stop()
		<-flooded
		press(p, '\r')
		reconnects(b, p)
		p.Open("about:blank") // avoids an error when the program stops
		h.Stop()
	}
}

func press(p *e2e.Page, r rune) {
	events := kb.Encode(r)
	down, up := *events[0], *events[len(events)-1]
	if len(events) == 3 {
		down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
	}
	p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, e := range []input.DispatchKeyEventParams{down, up} {
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func keyToGlyph(b *testing.B, p *e2e.Page, name string) {
	b.Helper()
	for i := range 60 {
		press(p, rune('a'+i%26))
		p.Wait(`benchTook.length > ` + strconv.Itoa(i))
	}
	took := e2e.Eval[[]float64](p, `benchTook`)
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], name+"-p50-ms")
	b.ReportMetric(took[len(took)*95/100], name+"-p95-ms")
}

// reconnects fills the screen with colours, cuts the connection five times, and measures until the
// screen is the same.
func reconnects(b *testing.B, p *e2e.Page) {
	b.Helper()
	e2e.Eval[bool](p, `(document.getElementById('term').xterm.input("i=0; while [ $i -lt 200 ]; do i=$((i+1)); printf '\\033[3%dmline %d\\033[m 漢字\\n' $((i%8)) $i; done; echo do$((1))ne\r"), true)`)
	p.Wait(`Array.from({length: document.getElementById('term').xterm.rows}, (_, y) => document.getElementById('term').xterm.buffer.active.getLine(document.getElementById('term').xterm.buffer.active.baseY + y).translateToString()).join().includes('do1ne')`)
	var worst float64
	for range 5 {
		e2e.Eval[bool](p, `(() => {
			const before = `+looks+`, begun = performance.now(), old = benchSocket;
			let whole = false;
			window.benchBack = undefined;
			old.close();
			const look = () => {
				if (whole && `+looks+` === before) window.benchBack = performance.now() - begun;
				else if (performance.now() - begun > 10000) { window.benchBack = -1; const a = before.split('|'), c = `+looks+`.split('|'); const i = a.findIndex((x, n) => x !== c[n]); window.benchDiff = [a.length, c.length, i, a.slice(i-3, i + 5).join('|'), c.slice(i-3, i + 5).join('|')].join(' // '); }
				else requestAnimationFrame(look);
			};
			const wait = () => {
				if (benchSocket === old) setTimeout(wait, 1);
				else benchSocket.addEventListener('message', (e) => { if (typeof e.data !== 'string') requestAnimationFrame(() => { whole = true; look(); }); });
			};
			wait();
			return true;
		})()`)
		p.Wait(`window.benchBack !== undefined`)
		took := e2e.Eval[float64](p, `benchBack`)
		if took < 0 {
			b.Fatalf("the screen is not the same after the line was cut: %s", e2e.Eval[string](p, `benchDiff`))
		}
		worst = max(worst, took)
	}
	b.ReportMetric(worst, "reconnect-worst-ms")
}
