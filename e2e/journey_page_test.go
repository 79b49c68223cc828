package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// at returns where to click the first visible element of a selector: the middle of its box, if
// nothing covers it and it has not moved for two frames; otherwise null.
const at = `(async selector => {
	const where = () => {
		const e = [...document.querySelectorAll(selector)].find(e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length);
		if (!e) return null;
		const middle = () => { const b = e.getClientRects()[0]; return [b.x + b.width / 2, b.y + b.height / 2]; };
		const open = () => e.contains(document.elementFromPoint(...middle()));
		if (!open()) e.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
		return open() ? middle() : null;
	};
	const first = where();
	await %s;
	const then = where();
	return first && then && first.join() === then.join() ? then : null;
})(%q)`

// painted waits until changes are painted. Without scripts, a page draws no frames for them.
const painted = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// Click clicks the first visible element with the mouse, once it neither moves nor is covered.
func (p *Page) Click(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	frames := painted
	if p.plain {
		frames = "null"
	}
	for {
		now, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(at, frames, selector),
			chromedp.EvalAwaitPromise))
		if err == nil && len(now) == 2 {
			p.Do(chromedp.MouseClickXY(now[0], now[1]))
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("nothing to click in %v: %s (%v)\nat %s\n%s", patience, selector, err, p.where(),
				strings.Join(p.Problems(), "\n"))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Press sends keys to the focused element, one at a time like a keyboard: a page that handles a key
// gets no character for it.
func (p *Page) Press(keys string, mods ...chromedp.Modifier) {
	p.t.Helper()
	for _, r := range keys {
		p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { return press(ctx, t, r, mods) }))
	}
}

func press(ctx context.Context, t *chromedp.Target, r rune, mods []chromedp.Modifier) error {
	events := kb.Encode(r)
	down, up := *events[0], *events[len(events)-1]
	for _, m := range mods {
		down.Modifiers |= int64(m)
		up.Modifiers |= int64(m)
	}
	if len(events) == 3 && len(mods) == 0 {
		down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
	}
	for _, e := range []input.DispatchKeyEventParams{down, up} {
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, e); err != nil {
			return err
		}
	}
	return nil
}

// Type inserts a text at the focus, like an input method: one event for any length.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	})
}

// Fill replaces the value of a field.
func (p *Page) Fill(selector, text string) {
	p.t.Helper()
	p.Do(chromedp.Focus(selector, chromedp.NodeVisible))
	Eval[bool](p, fmt.Sprintf("(document.querySelector(%q).select(), true)", selector))
	p.Type(text)
}

// Unfold opens a closed details element.
func (p *Page) Unfold(selector string) {
	p.t.Helper()
	if !Eval[bool](p, fmt.Sprintf("document.querySelector(%q).open", selector)) {
		p.Click(selector + " > summary")
	}
}

// Text returns the visible text of an element.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// Says waits until an element contains a text, visible or not.
func (p *Page) Says(selector, part string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%q)?.textContent.includes(%q)", selector, part))
}

// Live waits until the page's stream is open.
func (p *Page) Live() {
	p.t.Helper()
	p.Wait(live)
}

const live = "document.readyState === 'complete' && document.documentElement.dataset.live === 'on'"

// Follow clicks a link and waits until the target page is live, not the current one.
func (p *Page) Follow(selector string) {
	p.t.Helper()
	p.Submit(selector)
	p.Live()
}

// Submit clicks an element that opens a page, and waits until that page is complete, even if its
// address is the current one. An earlier click would be lost with the old page.
func (p *Page) Submit(selector string) {
	p.t.Helper()
	Eval[bool](p, "window.left = true")
	p.Click(selector)
	p.Wait("!window.left && document.readyState === 'complete'")
}

// looks are the variants of screenshots.
var looks = []struct {
	name          string
	width, height int64
	scheme        string
}{
	{"light", 1440, 900, "light"},
	{"dark", 1440, 900, "dark"},
	{"phone", 390, 844, "light"},
}

// Pictures takes screenshots of the page in every look, if enabled, and restores the page. On a
// phone it scrolls to the element matters.
func (p *Page) Pictures(name, matters string) {
	p.t.Helper()
	if os.Getenv("AHPHUB_SHOTS") == "" {
		return
	}
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		if l.width < 600 {
			Eval[bool](p, fmt.Sprintf("document.querySelector(%q)?.scrollIntoView({block: 'center'}), true", matters))
			p.look(l.width, l.height, l.scheme)
		}
		p.Shot(name + "-" + l.name)
	}
	p.look(1440, 900, "light")
}

// look sets size and colours, and waits until they are painted.
func (p *Page) look(width, height int64, scheme string) {
	p.t.Helper()
	size := chromedp.EmulateViewport(width, height)
	if width < 600 {
		size = chromedp.EmulateViewport(width, height, chromedp.EmulateMobile)
	}
	p.Do(size, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: scheme}}}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return chromedp.Void{}, err
	})
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](painted, chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatal(err)
	}
}

// squeeze makes texts comparable by normalizing whitespace, because lines wrap differently.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
