package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// picture creates a small picture in the page, and passes it to the composer as an event would.
const picture = `(async how => {
	const c = new OffscreenCanvas(40, 30);
	const x = c.getContext('2d'); x.fillStyle = 'teal'; x.fillRect(0, 0, 40, 30);
	const data = new DataTransfer();
	data.items.add(new File([await c.convertToBlob()], 'shot.png', {type: 'image/png'}));
	if (how === 'paste') document.querySelector('#message').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	else { const t = new DataTransfer(); t.items.add(new File(['remember the milk\n'], 'notes.txt', {type: 'text/plain'}));
		document.querySelector('#turns').dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true, cancelable: true})); }
})`

// composes types with an input method: preliminary text, then Enter for the input method, and the
// final text.
func (p *Page) composes(typed, taken string) {
	p.t.Helper()
	p.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		n := int64(len([]rune(typed)))
		_, err := cdp.Call(ctx, t, input.ImeSetComposition, input.ImeSetCompositionParams{Text: typed,
			SelectionStart: n, SelectionEnd: n})
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown,
			input.DispatchKeyEventTypeKeyUp} {
			if err == nil {
				_, err = cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: "Enter",
					Code: "Enter", WindowsVirtualKeyCode: 229})
			}
		}
		return chromedp.Void{}, err
	})
	p.Type(taken)
}

// Composing a message: completed commands and files, pasted and dropped pictures and texts, and
// recalling earlier messages.
func TestComposing(t *testing.T) {
	t.Parallel()
	p, _, ana, dir := withChatAgent(t)
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(p, ana, dir, "first words")
	ana.WaitText("#turns", "given: code small | first words")

	ana.Do(focus("#message"))
	ana.Press("/")
	ana.WaitText("#offers", "/compact")
	ana.Press("re")
	ana.Wait("document.querySelectorAll('#offers li').length === 1")
	ana.Pictures("commands", "#offers")
	ana.Press("\t")
	ana.Wait("document.querySelector('#message').value === '/review ' && !document.querySelector('#offers')")
	ana.Press("@gree")
	ana.WaitText("#offers", "greeting.txt")
	if got := Eval[string](ana,
		"document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).getAttribute('aria-selected')"); got != "true" {
		t.Errorf("the field does not point to what is chosen: %q", got)
	}
	ana.Press(kb.ArrowDown + kb.ArrowUp + "\r")
	ana.Wait("document.querySelector('#message').value === '/review @greeting.txt '")
	ana.Press("@nothing-like-this")
	ana.Wait("!document.querySelector('#offers')")
	ana.Press("@gr" + kb.Escape)
	ana.Wait("!document.querySelector('#offers')")
	ana.Fill("#message", "/review @greeting.txt")
	ana.Press("\r")
	ana.WaitText("#turns", "link greeting.txt")
	ana.WaitText("#turns .said .chip", "greeting.txt")

	said := Eval[int](ana, "document.querySelectorAll('#turns .said').length")
	ana.Fill("#message", "")
	ana.composes("にほ", "日本")
	ana.Wait("document.querySelector('#message').value === '日本'")
	if n := Eval[int](ana, "document.querySelectorAll('#turns .said').length"); n != said {
		t.Error("a message was sent while it was being composed")
	}
	ana.Press("\r")
	ana.WaitText("#turns .turn:last-child .said", "日本")

	Eval[bool](ana, picture+"('paste'), true")
	ana.Wait("document.querySelector('#attached canvas')")
	Eval[bool](ana, picture+"('drop'), true")
	ana.Wait("document.querySelectorAll('#attached li').length === 2")
	ana.Fill("#message", "look at these")
	ana.Pictures("attached", "#compose")
	ana.Press("\r")
	ana.WaitText("#turns", "image image/png | file remember the milk")
	ana.Wait("document.querySelector('#attached').hidden && document.querySelector('.thumb')?.complete && " +
		"document.querySelector('.thumb').naturalWidth === 40")
	ana.Pictures("sent", ".thumb")

	ana.Do(focus("#message"))
	ana.Press(kb.ArrowUp)
	ana.Wait("document.querySelector('#message').value === 'look at these'")
	ana.Press(kb.ArrowUp + kb.ArrowUp + kb.ArrowUp)
	ana.Wait("document.querySelector('#message').value === 'first words'")
	ana.Press(kb.ArrowDown + kb.ArrowDown + kb.ArrowDown + kb.ArrowDown)
	ana.Wait("document.querySelector('#message').value === ''")
}

// A message is edited, which removes later ones after its author confirms; a chat is forked from an
// earlier turn; and it is exported as Markdown.
func TestEditForkAndExport(t *testing.T) {
	t.Parallel()
	p, _, ana, dir := withChatAgent(t)
	begin(p, ana, dir, "one")
	ana.WaitText("#turns", "given: code small | one")
	for _, word := range []string{"two", "three"} {
		ana.Fill("#message", word)
		ana.Press("\r")
		ana.WaitText("#turns", "| "+word)
		ana.WaitText("#status", "Idle")
	}
	md := Eval[string](ana, "fetch(location.pathname + '?as=md').then(r => r.text()).then(t => window.saved = t), ''") +
		""
	ana.Wait("window.saved?.includes('> two') && window.saved.includes('given: code small')" + md)

	Eval[bool](ana, "document.querySelectorAll('#turns .turn')[1].querySelector('form[action$=\"/fork\"] "+
		"button').click(), true")
	ana.Wait("document.querySelectorAll('#turns .turn').length === 2 && document.querySelectorAll('#chats a').length " +
		"=== 2")
	ana.Live()
	ana.Pictures("fork", "#turns")
	Eval[bool](ana, "history.back(), true")
	ana.Wait("document.querySelectorAll('#turns .turn').length === 3")
	ana.Live()

	Eval[bool](ana, "document.querySelectorAll('#turns .turn')[0].querySelector('.acts a[href*=\"edit=\"]').click(), "+
		"true")
	ana.Wait("document.querySelector('#compose .editing') && document.querySelector('#message').value === 'one'")
	ana.Live()
	ana.Fill("#message", "one, but better")
	ana.Press("\r") // first warns that two turns are removed
	ana.Wait("!document.querySelector('.editing input[type=checkbox]').validity.valid")
	ana.Pictures("edit", "#compose")
	ana.Click(".editing input[type=checkbox]")
	ana.Click("#composer-mode button.main")
	ana.WaitText("#turns", "given: code small | one, but better")
	ana.Wait("document.querySelectorAll('#turns .turn').length === 1 && !document.querySelector('.editing')")
}
