package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// terminals is a session with the owner's page on its terminals.
type terminals struct {
	t       *testing.T
	prog    *Program
	browser *Browser
	owner   *Page
	base    string // "/s/ab12/t"
}

func openTerminals(t *testing.T) *terminals {
	t.Helper()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	x := &terminals{t: t, prog: prog, browser: OpenBrowser(t)}
	x.owner = x.browser.Page()
	x.owner.SignIn(prog)
	x.base = newSession(x.owner, prog, "say hello") + "/t"
	x.owner.Open(prog.URL + x.base)
	return x
}

// shell opens a terminal by the page's button and waits for its prompt.
func (x *terminals) shell() {
	x.t.Helper()
	x.owner.Click(".termbar form button")
	opened(x.owner)
	prompted(x.owner, 0)
}

// termIn returns a terminal in a page, counted from the left.
func termIn(n int) string {
	return fmt.Sprintf(`document.querySelectorAll('.termframe')[%d].contentDocument.getElementById('term').xterm`, n)
}

// shows returns the text of a terminal with its scrollback.
func shows(n int) string {
	return `(() => { const t = document.querySelectorAll('.termframe')[` + strconv.Itoa(n) +
		`]?.contentDocument?.getElementById('term')?.xterm; if (!t) return ''; const b = t.buffer.active; let s = ''; for (let i = 0; i < b.length; i++) s += b.getLine(i).translateToString(true) + '\n'; return s.trim(); })()`
}

// opened waits for the page of a terminal that was opened from the list.
func opened(p *Page) {
	p.t.Helper()
	p.Wait(`/\/t\/./.test(location.pathname) && document.readyState === 'complete'`)
}

// prompted waits for the prompt of a shell.
func prompted(p *Page, n int) { p.t.Helper(); p.Wait(shows(n) + `.endsWith('$')`) }

// inFrame returns an expression about the document of a terminal's frame.
func inFrame(n int, expression string) string {
	return fmt.Sprintf(`((document, window) => %s)(document.querySelectorAll('.termframe')[%d].contentDocument, document.querySelectorAll('.termframe')[%d].contentWindow)`, expression, n, n)
}

// run types a command with the keyboard.
func run(p *Page, n int, command string) {
	p.t.Helper()
	Eval[any](p, termIn(n)+`.focus()`)
	p.Press(command)
	p.Press(kb.Enter)
}

// phone emulates a phone with touch.
func (p *Page) phone() {
	p.t.Helper()
	p.look(390, 844, "light")
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTouchEmulationEnabled,
			emulation.SetTouchEmulationEnabledParams{Enabled: true})
		return chromedp.Void{}, err
	})
}

// Tabs, a split and search: by keyboard, and the address says what is shown.
func TestTerminalPage(t *testing.T) {
	t.Parallel()
	x := openTerminals(t)
	p := x.owner
	p.Says(".empty", "New terminal")
	p.Pictures("empty", ".empty")
	x.shell()
	run(p, 0, `echo one$((1+1))`)
	p.Wait(shows(0) + `.includes('one2')`)
	p.Says(".termstate", "You're in control")
	run(p, 0, `printf '\e[1;31mred\e[m \e[32mgreen\e[m \e[33myellow\e[m \e[34mblue\e[m \u65e5\u672c \U0001F680 https://example.com/path\n'; ls --color=always /`)
	p.Wait(shows(0) + `.includes('日本 🚀') && ` + shows(0) + `.endsWith('$')`)
	p.Pictures("one", ".termpane")

	p.Click(`[aria-label^="Split"]`)
	p.Wait(`document.querySelectorAll('.termframe').length === 2`)
	prompted(p, 1)
	run(p, 1, `echo right$((1+1))`)
	p.Wait(shows(1) + `.includes('right2')`)
	if !strings.Contains(Eval[string](p, `location.search`), "with=") ||
		Eval[int](p, `document.querySelectorAll('.termtab[aria-current]').length`) != 2 {
		t.Error("the address and the tabs do not say that two are shown")
	}
	p.Pictures("split", ".termpane")

	Eval[any](p, termIn(0)+`.focus()`)
	p.Press("F", chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.Wait(inFrame(0, `document.activeElement.id === 'find'`))
	p.Press("one")
	p.Wait(inFrame(0, `document.getElementById('found').textContent === '2 of 2'`))
	p.Press(kb.Enter)
	p.Wait(inFrame(0, `document.getElementById('found').textContent === '1 of 2'`))
	p.Press(kb.Enter, chromedp.ModifierShift)
	p.Wait(inFrame(0, `document.getElementById('found').textContent === '2 of 2'`))
	p.Pictures("search", ".termpane")
	p.Press("zz")
	p.Wait(inFrame(0, `document.getElementById('found').textContent === 'none'`))
	p.Press(kb.Escape)
	p.Wait(inFrame(0, `document.getElementById('search').hidden && document.activeElement.classList.contains('xterm-helper-textarea')`))

	p.Press(".", chromedp.ModifierCtrl, chromedp.ModifierAlt)
	p.Wait(`document.activeElement.matches('.termtab[aria-current]')`)
	p.Press(kb.Enter)
	p.Wait(`document.activeElement.matches('.termframe')`)
	p.Press("exit 3" + kb.Enter)
	p.Says(".termpane", "Exited 3")
	p.Says("#terminals", "Close 1 exited")
	p.Wait(inFrame(0, `document.getElementById('who').textContent === 'Exited 3'`))
	p.Pictures("exited", ".termpane")
}

// Renaming and clearing apply to all viewers; closing asks for confirmation; everything is live.
func TestTerminalIsRenamedClearedAndClosed(t *testing.T) {
	t.Parallel()
	x := openTerminals(t)
	p := x.owner
	x.shell()
	other := x.browser.Page()
	other.SignIn(x.prog)
	other.Open(x.prog.URL + x.base)
	run(p, 0, `echo one$((1+1))`)
	other.Wait(shows(0) + `.includes('one2')`)
	p.Click(`[id^=menu-] > summary`)
	p.Fill(`[id^=rename-]`, "build")
	p.Press(kb.Enter)
	other.Says("#terminals", "build")
	p.Click(`[id^=menu-] > summary`)
	p.Click(`form[action$="/clear"] button`)
	other.Wait(`!` + shows(0) + `.includes('one2')`)
	p.Click(`[id^=menu-] > summary`)
	p.Says(`form[action$="/close"]`, "Closing stops it")
	p.Pictures("menu", ".termpane")
	p.Click(`form[action$="/close"] button`)
	p.Says(".empty", "No terminals")
	other.Wait(`!document.querySelector('.termtab') && ` +
		inFrame(0, `document.getElementById('who').textContent === 'This terminal was closed'`))

	p.Click("#new-terminal > summary")
	p.Pictures("new", "#new-terminal")
	p.Do(chromedp.SetValue("#term-shell", "sh"))
	p.Fill("#term-dir", "/usr")
	p.Fill("#term-name", "elsewhere")
	p.Click("#new-terminal .btn.main")
	p.Wait(shows(0) + `.length > 0`)
	run(p, 0, "pwd; echo in $0")
	p.Wait(shows(0) + `.includes('/usr') && ` + shows(0) + `.includes('in /')`)
	p.Says(".termtab", "elsewhere")
}
