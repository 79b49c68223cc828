package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// newKeyboard opens a page for a person without a mouse, and records mouse and touch events.
func newKeyboard(t *testing.T, b *Browser, prog *Program) *keyboard {
	k := &keyboard{Page: b.Page(), t: t, prog: prog}
	k.look(1440, 900, "light")
	k.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{
				Source: "for (const e of ['mousedown', 'mousemove', 'pointerdown', 'touchstart']) " +
					"addEventListener(e, () => sessionStorage.setItem('mouse', e), true)"})
		return chromedp.Void{}, err
	})
	return k
}

// checkNoMouse fails if the page got a mouse or touch event.
func (k *keyboard) checkNoMouse() {
	k.t.Helper()
	if by := Eval[string](k.Page, "sessionStorage.getItem('mouse') ?? ''"); by != "" {
		k.t.Errorf("there was a %s", by)
	}
}

// Two people complete everything only by keyboard: one starts a session, approves a command and
// shares the session, the other joins and comments, and the first answers.
func TestTwoPeopleByKeyboardAlone(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}, Env: []string{"PATH=/usr/bin:/bin"}})
	b := OpenBrowser(t)
	ana, ben := newKeyboard(t, b, prog), newKeyboard(t, b, prog)
	ana.SignIn(prog)
	ana.tab("a.main[href='/new'], a.main[href='/new#first-agent']", 40)
	ana.Press("\r")
	ana.Wait("location.pathname === '/new' && document.readyState === 'complete'")
	ana.tab("#message", 60)
	ana.Type("echo one > made.txt")
	ana.Press("\r", chromedp.ModifierCtrl)
	ana.Wait("location.pathname.startsWith('/s/')")
	ana.Live()
	ana.Wait("document.querySelector('.approval [data-kind=approve]')")
	ana.tab(".approval [data-kind=approve]", 60)
	ana.Press("y")
	ana.Wait("!document.querySelector('.approval [data-kind=approve]')")
	ana.Wait("document.querySelector('#turns').textContent.includes('exit 0')")
	ana.tab("a[aria-label=Share]", 60)
	ana.Press("\r")
	ana.Wait("location.pathname.endsWith('/share') && document.readyState === 'complete'")
	ana.tab("form.linkform button.main", 60)
	ana.Press("\r")
	ana.Wait("document.querySelector('#made')?.value.includes('/j#')")
	link := Eval[string](ana.Page, "document.querySelector('#made').value")

	ben.Open(link)
	ben.Wait("document.querySelector('input[name=token]')?.value && document.querySelector('#name')")
	if !Eval[bool](ben.Page, "document.activeElement.matches('#name')") {
		ben.tab("#name", 20)
	}
	ben.Type("Ben")
	ben.Press("\r")
	ben.Wait("location.pathname.startsWith('/s/')")
	ben.Live()
	ben.Press("gd")
	ben.arrives("/changes")
	ben.Wait("document.querySelector('#review .r')")
	ben.key("n")
	ben.Press("c")
	ben.write("Why one?")
	ben.Press("\r", chromedp.ModifierCtrl)
	ben.Wait("document.querySelector('#draftcount').dataset.n === '1'")
	ana.Press("gr")
	ana.arrives("/threads")
	ana.Live()
	ben.Press("f")
	ben.Wait("document.activeElement?.id === 'verdict-summary'")
	ben.Press("\r", chromedp.ModifierCtrl)
	ben.Wait("document.querySelector('.file .thr')")

	ana.WaitText("#thread-list", "Why one?")
	ana.key("]")
	ana.Press("r")
	ana.write("To begin with.")
	ana.Press("\r", chromedp.ModifierCtrl)
	ben.WaitText(".thr", "To begin with.")
	ana.checkNoMouse()
	ben.checkNoMouse()
	ana.leave()
	ben.leave()
}
