package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTerminalFrame tests everything about one terminal for a person, in one program and browser.
func TestTerminalFrame(t *testing.T) {
	t.Parallel()
	x := openTerminals(t)
	x.links()
	x.pastes()
	x.accessible()
	x.trustedTypes()
	x.onAPhone()
	x.withoutScripts()
	x.settings()
	x.withoutLibrary()
}

// block refuses requests for addresses that contain a text, or none.
func (p *Page) block(text string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return chromedp.Void{}, err
		}
		params := network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{}}
		if text != "" {
			params.URLPatterns = append(params.URLPatterns, &network.BlockPattern{URLPattern: "*://*:*/*" + text, Block: true})
		}
		_, err := cdp.Call(ctx, target, network.SetBlockedURLs, params)
		return chromedp.Void{}, err
	})
}

// A terminal whose library did not load, for example during a server restart, appears as soon as it
// does.
func (x *terminals) withoutLibrary() {
	p := x.owner
	p.Allow("ERR_BLOCKED")
	p.block("addon-fit.js")
	p.Open(x.prog.URL + x.base)
	p.Wait(inFrame(0, `document.readyState === 'complete' && !window.FitAddon`))
	p.block("")
	p.Wait(inFrame(0, `document.getElementById('term').xterm`))
}

// pointAt moves the mouse over a text of a terminal, or clicks there.
func pointAt(p *Page, text string, click bool) {
	p.t.Helper()
	at := Eval[[]float64](p, `(() => {
		const f = document.querySelector('.termframe'), t = f.contentDocument.getElementById('term').xterm, b = t.buffer.active;
		for (let i = b.length - 1; i >= 0; i--) {
			const x = b.getLine(i).translateToString(true).indexOf('`+text+`');
			if (x < 0) continue;
			const s = f.contentDocument.querySelector('.xterm-screen').getBoundingClientRect(), o = f.getBoundingClientRect();
			return [o.x + s.x + (x + 2.5) * s.width / t.cols, o.y + s.y + (i - b.viewportY + 0.5) * s.height / t.rows];
		}
	})()`)
	p.Do(chromedp.MouseEvent("mouseMoved", at[0]-9, at[1]), chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	if click {
		p.Do(chromedp.MouseClickXY(at[0], at[1]))
	}
}

// A link's target is shown before it is followed, whatever its text; only http and https are links.
func (x *terminals) links() {
	p, t := x.owner, x.t
	p.Open(x.prog.URL + x.base)
	x.shell()
	run(p, 0, `clear; printf 'see https://example.com/a?b=1 \e]8;;https://evil.example/x\e\\http://good.example\e]8;;\e\\ \e]8;;javascript:alert(1)\e\\script\e]8;;\e\\ \e]8;;file:///etc/passwd\e\\local\e]8;;\e\\\n'`)
	p.Wait(shows(0) + `.includes('good.example script local') && ` +
		inFrame(0, `document.getElementById('tip')`))
	tip := func(want string) string {
		return inFrame(0, `(t => t && !t.hidden && t.textContent.includes('`+want+`'))(document.getElementById('tip'))`)
	}
	pointAt(p, "https://example.com", false)
	p.Wait(tip("https://example.com/a?b=1"))
	pointAt(p, "http://good", false)
	p.Wait(tip("https://evil.example/x"))
	pointAt(p, "http://good", true)
	p.Wait(inFrame(0, `(a => a?.href === 'https://evil.example/x' && a.target === '_blank' && a.rel === 'noopener noreferrer')(document.querySelector('#tip a'))`))
	p.Pictures("link", ".termpane")
	p.Press(kb.Escape)
	p.Wait(inFrame(0, `document.getElementById('tip').hidden`))
	for _, bad := range []string{"script", "local"} {
		pointAt(p, bad, true)
		pointAt(p, "see", false)
		if Eval[bool](p, inFrame(0, `!document.getElementById('tip').hidden`)) {
			t.Errorf("%s is a link", bad)
		}
	}
}

// Copying copies the selection; pasting sends a program one piece in the brackets it requested.
func (x *terminals) pastes() {
	p := x.owner
	p.Open(x.prog.URL + x.base)
	x.shell()
	run(p, 0, `clear; printf 'one word\ntwo\n'; printf '\e[?2004h'; stty -echo -icanon; cat -v`)
	p.Wait(shows(0) + `.endsWith('two')`)
	Eval[any](p, `(t => { t.select(0, 0, t.cols + 3); t.focus(); return null })(`+termIn(0)+`)`)
	p.Press("C", chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.paste()
	p.Wait(shows(0) + `.includes('^[[200~one word') && ` + shows(0) + `.includes('two^[[201~')`)
}

// paste pastes like the browser's own key.
func (p *Page) paste() {
	p.t.Helper()
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for _, kind := range []input.DispatchKeyEventType{"rawKeyDown", "keyUp"} {
			e := input.DispatchKeyEventParams{Type: kind, Key: "V", Code: "KeyV", WindowsVirtualKeyCode: 'V',
				Modifiers: int64(chromedp.ModifierCtrl | chromedp.ModifierShift)}
			if kind == "rawKeyDown" {
				e.Commands = []string{"paste"}
			}
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, e); err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
}

// Programs cannot write to the clipboard without the viewer's permission; the leave key and the
// font size are personal settings that all frames apply immediately.
func (x *terminals) settings() {
	p, t := x.owner, x.t
	p.Open(x.prog.URL + x.base)
	x.shell()
	Eval[any](p, inFrame(0, `(window.copied = [], window.navigator.clipboard.writeText = async (s) => { window.copied.push(s); }, null)`))
	run(p, 0, `printf '\e]52;c;aGVsbG8=\a'; echo don$((1+1))`)
	p.Wait(shows(0) + `.includes('don2')`)
	if n := Eval[int](p, inFrame(0, `window.copied.length`)); n != 0 {
		t.Errorf("a program wrote to the clipboard %d times without being let", n)
	}
	p.Click("#term-settings > summary")
	p.Click("#term-clip")
	p.Click(`[data-term-font="1"]`)
	p.Click(`[data-term-font="1"]`)
	p.Wait(termIn(0) + `.options.fontSize === 15`)
	p.Click("#term-chord")
	p.Press("Q", chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(inFrame(0, `document.getElementById('chord').textContent === 'Ctrl+Shift+Q'`))
	p.Click("#term-reader")
	p.Wait(inFrame(0, `document.querySelector('.xterm-accessibility') !== null`))
	p.Pictures("settings", "#term-settings")
	p.Press(kb.Escape)
	run(p, 0, `printf '\e]52;c;aGVsbG8=\a\e]52;c;?\a'; echo don$((1+2))`)
	p.Wait(shows(0) + `.includes('don3')`)
	p.Wait(inFrame(0, `window.copied.join() === 'hello'`))
	p.Press("Q", chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(`document.activeElement.matches('.termtab')`)
	p.Open(x.prog.URL + x.base)
	prompted(p, 0)
	if Eval[string](p, inFrame(0, `document.getElementById('chord').textContent`)) != "Ctrl+Shift+Q" ||
		Eval[int](p, termIn(0)+`.options.fontSize`) != 15 {
		t.Error("the settings are forgotten when the page is loaded anew")
	}
}

// Markup and script addresses only reach the frame's document through its policy, which allows the
// server's own scripts.
func (x *terminals) trustedTypes() {
	frame := Eval[string](x.owner, `document.querySelector('.termframe')?.src || location.href`)
	p := x.owner.Beside()
	p.Allow(`Trusted(HTML|ScriptURL)|trusted-types`)
	p.Open(frame)
	p.Wait(`document.getElementById('term')?.frame`)
	for _, attack := range []string{
		`document.body.innerHTML = '<b>x</b>'`,
		`document.createElement('script').src = '/assets/0/js/base.js'`,
		`trustedTypes.createPolicy('mine', { createHTML: s => s })`,
		`trustedTypes.createPolicy('default', { createHTML: s => s })`,
	} {
		if Eval[bool](p, `(() => { try { `+attack+`; return true } catch { return false } })()`) {
			x.t.Errorf("the frame lets this through: %s", attack)
		}
	}
	p.leave()
}

// A phone has the keys its keyboard lacks, each large enough for a finger, and the page does not
// move.
func (x *terminals) onAPhone() {
	t, p := x.t, x.browser.Page()
	p.SignIn(x.prog)
	p.phone()
	p.Open(x.prog.URL + x.base)
	p.Click(".termbar form button")
	opened(p)
	prompted(p, 0)
	p.Wait(inFrame(0, `document.getElementById('keys').checkVisibility()`))
	run(p, 0, "echo rea$((2-1))y; cat") // a shell that has not started the line yet would take the key itself
	p.Wait(shows(0) + `.includes('rea1y')`)
	Eval[any](p, inFrame(0, `document.querySelector('[data-key=int]').click()`))
	p.Wait(shows(0) + `.includes('^C') && ` + shows(0) + `.endsWith('$')`)
	Eval[any](p, inFrame(0, `document.querySelector('[data-key=slash]').click()`))
	p.Wait(shows(0) + `.endsWith('$ /')`)
	Eval[any](p, inFrame(0, `document.querySelector('[data-key=ctrl]').click()`))
	p.Wait(inFrame(0, `document.querySelector('[data-key=ctrl]').getAttribute('aria-pressed') === 'true'`))
	p.Press("u")
	p.Wait(shows(0) + `.endsWith('$')`)
	Eval[any](p, inFrame(0, `document.querySelector('[data-key=up]').click()`))
	p.Wait(shows(0) + `.endsWith('; cat')`)
	Eval[any](p, inFrame(0, `document.querySelector('[data-key=left]').click()`))
	p.Press("o")
	p.Wait(shows(0) + `.endsWith('; caot')`)
	small := Eval[[]string](p, inFrame(0, strings.NewReplacer("getComputedStyle", "window.getComputedStyle",
		"textarea')", "label')").Replace(tooSmall)))
	if small = append(small, Eval[[]string](p, tooSmall)...); len(small) > 0 {
		t.Errorf("too small for a finger: %s", strings.Join(small, "\n"))
	}
	if Eval[bool](p, `document.documentElement.scrollWidth > innerWidth`) ||
		Eval[bool](p, inFrame(0, `document.documentElement.scrollWidth > window.innerWidth`)) {
		t.Error("the page scrolls sideways")
	}
	p.Shot("keys")
}

// axe-core finds nothing on the page and in the frame, in every look.
func (x *terminals) accessible() {
	p, t := x.owner, x.t
	p.Open(x.prog.URL + x.base)
	x.shell()
	run(p, 0, `for i in 30 31 32 33 34 35 36 37 90 91 92 93 94 95 96 97; do printf "\e[${i}mcolour $i\e[m\n"; done; false`)
	p.Click(`[data-term=commands]`)
	p.Says(".commands", "Exit 1")
	p.Press("F", chromedp.ModifierCtrl, chromedp.ModifierShift)
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		for _, f := range axeFindings(p) {
			t.Errorf("the page, %s: %s\n\t%s", l.name, f.Rule, strings.Join(f.Nodes, "\n\t"))
		}
	}
	p.look(320, 640, "light")
	if w := Eval[int](p, `document.documentElement.scrollWidth`); w > 320 {
		t.Errorf("the page scrolls sideways: %d px", w)
	}
	p.Open(Eval[string](p, `document.querySelector('.termframe').src`))
	p.Wait(`document.getElementById('term')?.frame?.state.mine && document.querySelector('.xterm-rows').textContent.includes('colour 97')`)
	Eval[any](p, `document.getElementById('term').frame.find()`)
	p.Wait(`document.activeElement.id === 'find'`)
	p.Press("colour")
	for _, l := range looks {
		p.look(l.width, l.height, l.scheme)
		p.Wait(`document.getElementById('term').xterm.options.theme.background === '` + map[string]string{"light": "#ffffff",
			"dark": "#16181b"}[l.scheme] + `'`)
		for _, f := range axeFindings(p) {
			t.Errorf("the frame, %s: %s\n\t%s", l.name, f.Rule, strings.Join(f.Nodes, "\n\t"))
		}
	}
}

// Without JavaScript, the screen is text, and a form sends a line.
func (x *terminals) withoutScripts() {
	t, p := x.t, x.browser.Page()
	p.SignIn(x.prog)
	p.noScript()
	p.Open(x.prog.URL + x.base)
	p.Click(".termbar form button")
	opened(p)
	reads := func(what string, is func(text string) bool) {
		t.Helper()
		p.Do(chromedp.WaitVisible(".termtext"))
		waitUntil(t, what, func() error {
			text := p.Text(".termtext")
			if is(text) {
				return nil
			}
			p.leaveBy(`form[action$="/input"] a`)
			return fmt.Errorf("the screen is\n%s", text)
		})
	}
	reads("the shell's prompt", func(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), "$") })
	p.Do(chromedp.SendKeys("[name=line]", "echo plain$((1+1))"))
	p.leaveBy(`form[action$="/input"] button`)
	reads("the line that was sent", func(text string) bool { return strings.Contains(text, "plain2") })
	p.Shot("plain")
}
