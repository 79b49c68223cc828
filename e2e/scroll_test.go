package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// tooTall returns how much higher a document is than its window, and the elements that extend
// beyond it. Classic scroll bars take space, so everything is detected.
const tooTall = `(() => {
	const d = document.scrollingElement, over = d.scrollHeight - d.clientHeight;
	if (over <= 0) return '';
	const outside = [...document.querySelectorAll('body *')].filter(e => {
		for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (p.scrollHeight > p.clientHeight && getComputedStyle(p).overflowY !== 'visible' && getComputedStyle(e).position !== 'absolute') return false;
		return e.checkVisibility() && e.getBoundingClientRect().bottom + scrollY > d.clientHeight + 0.5;
	});
	return over + ' px: ' + outside.slice(0, 4).map(e => e.outerHTML.slice(0, 90)).join(' | ');
})()`

// A page of the app scrolls inside: the document is as high as the window, also for long pages, on
// a phone, and with permanent scroll bars.
func TestDocumentDoesNotScroll(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := StartBrowser(t, chromedp.Flag("hide-scrollbars", false))
	p, stranger := b.Page(), b.Page()
	p.SignIn(prog)
	for range 6 {
		form := url.Values{"agent": {"script"}, "dir": {t.TempDir()},
			"message": {"say " + strings.Repeat(`line\n\n`, 60) + "\nrun touch file"}}
		awaited[string](p, fmt.Sprintf(
			"fetch('/new', {method: 'POST', body: new URLSearchParams(%q)}).then(r => r.url)", form.Encode()))
	}
	session := newSession(p, prog, "say "+strings.Repeat(`line\n\n`, 60)+"\nrun echo hello")
	p.Wait(`document.querySelector('form.approval')`)
	chat := Eval[string](p, `new URLSearchParams(document.body.dataset.live).get('in')`)
	fits := func(who *Page, path string) {
		who.Allow(`40[34]|428`)
		who.look(1440, 900, "light")
		who.Open(prog.URL + path)
		who.Wait(`document.readyState === 'complete'`)
		if said := Eval[string](who, tooTall); said != "" {
			t.Errorf("%s is higher than its window by %s", path, said)
		}
		who.look(390, 844, "light")
		if said := Eval[string](who, tooTall); said != "" {
			t.Errorf("%s is higher than a phone by %s", path, said)
		}
	}
	for _, path := range allPages(t, map[string]string{"session": strings.TrimPrefix(session, "/s/"), "chat": chat}) {
		fits(p, path)
	}
	for _, path := range openDoors {
		fits(stranger, path)
	}
	p.leave()
}
