package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ahphub/ahphub/e2e/fixture"
)

// unseen describes what is wrong with the viewer's position, the focus or the current line: empty
// if it is visible, highlighted, and not covered.
const unseen = `(() => {
	const at = document.activeElement, line = document.querySelector('.r.cur');
	const wrong = e => {
		const b = e.getBoundingClientRect(), y = b.height > 60 ? b.top + 10 : b.top + b.height / 2;
		const x = Math.max(b.left + 4, Math.min(b.left + b.width / 2, innerWidth - 4)), top = document.elementFromPoint(x, y);
		if (top && (top === e || e.contains(top) || top.contains(e) && !top.matches('.rbar, .sendbar, .file-head'))) return '';
		return e.outerHTML.slice(0, 80) + ' at ' + Math.round(x) + ',' + Math.round(y) + ' is under ' + (top?.outerHTML.slice(0, 80) ?? 'nothing');
	};
	if (at && at !== document.body && at.id !== 'main') {
		const s = getComputedStyle(at.closest('.inhead') ?? at); // the ring of a session in the inbox is around its row
		if (!at.matches('textarea, input') && s.outlineStyle === 'none' && s.boxShadow === 'none') return 'no ring around ' + at.outerHTML.slice(0, 120);
		return wrong(at);
	}
	if (!line) return '';
	return getComputedStyle(line).outlineStyle === 'none' ? 'the line is not marked' : wrong(line);
})()`

// keyboard is a person without a mouse.
type keyboard struct {
	*Page
	t    *testing.T
	prog *Program
}

// key presses keys and checks that their target is visible.
func (k *keyboard) key(keys string, mods ...chromedp.Modifier) {
	k.t.Helper()
	k.Press(keys, mods...)
	k.sees(keys)
}

func (k *keyboard) sees(after string) {
	k.t.Helper()
	if bad := Eval[string](k.Page, unseen); bad != "" {
		k.t.Errorf("after %q: %s", after, bad)
	}
}

// tab moves to an element in the order of the page.
func (k *keyboard) tab(selector string, most int) {
	k.t.Helper()
	for range most {
		k.Press(kb.Tab)
		if Eval[bool](k.Page, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			k.sees("Tab to " + selector)
			return
		}
	}
	k.t.Fatalf("%d times Tab did not come to %s", most, selector)
}

// arrives waits for the page that a key opens.
func (k *keyboard) arrives(where string) {
	k.t.Helper()
	k.Wait(fmt.Sprintf("(location.pathname + location.search).includes(%q)", where))
	k.Live()
}

func (k *keyboard) write(text string) {
	k.t.Helper()
	k.Wait("document.activeElement?.matches('textarea')")
	k.sees("opening a box")
	k.Type(text)
}

func (k *keyboard) walk() {
	k.t.Helper()
	seen := func() string {
		return Eval[string](k.Page,
			"(r => r ? r.closest('.file').dataset.path + r.dataset.l + r.className : "+
				"'')(document.querySelector('.r.cur'))")
	}
	for _, keys := range []string{"j", "j", "k", "n", "n", "p", "J", "J", "K", "u", "n"} {
		was := seen()
		k.key(keys)
		if now := seen(); now == was || now == "" {
			k.t.Errorf("%s goes from %q to %q", keys, was, now)
		}
	}
	k.Press("/")
	k.Type("_042")
	k.Wait("[...document.querySelectorAll('#tree li[id]')].filter(li => !li.hidden).length === 1")
	k.key("\r")
	k.Wait("document.querySelector('.r.cur').closest('.file').dataset.path.includes('_042')")
	k.Press("/")
	k.Press(kb.Escape)
	k.Wait("[...document.querySelectorAll('#tree li[id]')].every(li => !li.hidden)")
	rows := "document.querySelector('.r.cur').closest('.file').querySelectorAll('.r').length"
	for _, keys := range []string{"x", "X"} {
		n := Eval[int](k.Page, rows)
		k.key(keys)
		k.Wait(fmt.Sprintf("%s > %d", rows, n))
	}
	shut := "document.querySelector('.r.cur')?.closest('.file').classList.contains('shut')"
	k.Press("o")
	k.Wait(shut)
	k.Press("o")
	k.Wait("!" + shut)
	k.key("y")
	k.Wait("/^#f-[0-9a-f]+[LR][0-9]+/.test(location.hash)")
}

// views switches what is compared and how it is shown, and back.
func (k *keyboard) views() {
	k.t.Helper()
	k.Press("m")
	k.arrives("view=split")
	k.key("j")
	k.key("j")
	k.Press("m")
	k.Wait("!location.search.includes('view=split')")
	k.Live()
	scopes := Eval[[]string](k.Page, "[...document.querySelectorAll('.scopes a')].map(a => a.dataset.scope)")
	if len(scopes) < 3 {
		k.t.Fatalf("there are the scopes %q", scopes)
	}
	for i := range scopes {
		k.Press(fmt.Sprint(i + 1))
		k.Wait(fmt.Sprintf("document.querySelectorAll('.scopes a')[%d]?.hasAttribute('aria-current')", i))
		k.Live()
	}
	k.Press("1") // it is empty, so it loads fast
	k.Wait("document.querySelectorAll('.scopes a')[0].hasAttribute('aria-current')")
	k.Live()
	for _, space := range []string{"ws=amount", "ws=ignore", "ws=blank"} {
		k.Press("w")
		k.arrives(space)
	}
	k.Press("w")
	k.Wait("!location.search.includes('ws=')")
	k.Live()
	k.uncommitted()
}

// uncommitted switches to the uncommitted changes by their number.
func (k *keyboard) uncommitted() {
	k.t.Helper()
	n := Eval[int](k.Page, "[...document.querySelectorAll('.scopes a')].findIndex(a => a.dataset.scope === "+
		"'uncommitted')")
	k.Press(fmt.Sprint(n + 1))
	k.arrives("scope=uncommitted")
	k.Says("#review-counts", "/100 reviewed")
}

// drafts writes drafts on a line, on several and on a file.
func (k *keyboard) drafts() {
	k.t.Helper()
	save := func(n int) {
		k.Press("\r", chromedp.ModifierCtrl)
		k.Wait(fmt.Sprintf("document.querySelector('#draftcount').dataset.n === '%d'", n))
		k.Wait("!document.activeElement?.matches('textarea')")
		k.sees("Ctrl+Enter")
	}
	k.key("n")
	k.Press("c")
	k.write("On a line.")
	save(1)
	k.key("J")
	k.key("n")
	k.Press("s")
	k.key("j")
	k.key("j")
	k.Press("c")
	k.write("On three lines.")
	if at := Eval[string](k.Page, "document.activeElement.closest('form').dataset.at"); !strings.Contains(at, "-") {
		k.t.Errorf("the range is %q", at)
	}
	save(2)
	k.key("J")
	k.Press("C")
	k.write("On the file.")
	save(3)
}

// mark marks hunks, then every file.
func (k *keyboard) mark() {
	k.t.Helper()
	Eval[bool](k.Page, "document.querySelector('#main').scrollTo(0, 0), true")
	k.key("u")
	k.key("n")
	k.key("V")
	k.Wait("document.querySelector('#files [data-done]')")
	for i := range 120 {
		if Eval[int](k.Page, "document.querySelectorAll('.file[data-reviewed]').length") == 100 {
			break
		}
		if i%10 == 0 {
			k.key("v")
		} else {
			k.Press("v")
		}
	}
	k.Says("#review-counts", "100/100 reviewed")
}

// decide gives a verdict in the form that f opens.
func (k *keyboard) decide() {
	k.t.Helper()
	k.Press("f")
	k.Wait("document.activeElement?.id === 'verdict-summary'")
	k.Type("Fine, but for three things.")
	k.tab("#verdict-form input[type=radio]", 3)
	k.key(kb.ArrowDown)
	k.key(kb.ArrowDown)
	k.Wait("document.activeElement.value === 'changes'")
	k.tab("#verdict-form input[name=send]", 3)
	k.Press(" ") // sent to the agent later
	k.Press("\r", chromedp.ModifierCtrl)
	k.Wait("document.querySelector('#verdicts')?.textContent.includes('requests changes')")
	k.Live()
}

// talk sends everything to the agent, whose answer appears in the thread, and replies there.
func (k *keyboard) talk() {
	k.t.Helper()
	Eval[bool](k.Page, "document.body.dataset.old = 'true', true")
	k.Press("\r", chromedp.ModifierCtrl|chromedp.ModifierShift)
	k.Wait("document.body && !document.body.dataset.old")
	k.Live()
	k.Wait("document.querySelectorAll('.thr').length === 3")
	k.Wait("[...document.querySelectorAll('.thr')].every(t => t.textContent.includes('I have read this.'))")
	k.key("]")
	first := Eval[string](k.Page, "document.activeElement.closest('.thr').id")
	k.key("]")
	k.key("[")
	if now := Eval[string](k.Page, "document.activeElement.closest('.thr').id"); now != first {
		k.t.Errorf("] and [ lead from %s to %s", first, now)
	}
	k.Press("r")
	k.write("Thank you.")
	k.Press("\r", chromedp.ModifierCtrl)
	k.Wait("document.getElementById('" + first + "').textContent.includes('Thank you.')")
	k.Press(kb.Escape)
	k.Press("e")
	k.Wait("document.querySelector('#" + first + " .thread').dataset.state === 'resolved'")
	k.Press("gr")
	k.arrives("/threads")
	k.WaitText("#thread-list", "I have read this.")
}

// switchOff finds every key in the list of keys, and switches them off there.
func (k *keyboard) switchOff() {
	k.t.Helper()
	k.Press("gd")
	k.arrives("/changes")
	k.uncommitted()
	k.Press("?")
	k.Wait("document.querySelector('#help').open")
	missing := awaited[string](k.Page, `(async () => {
		const { keys } = `+Module("keys.js")+`;
		const said = new Set([...document.querySelectorAll('#help kbd')].flatMap(e => [e.textContent, ...e.textContent.split(/[ \/–]+/)]));
		return Object.keys(keys).filter(k => !said.has(k === 'Escape' ? 'Esc' : k) && !'234'.includes(k)).join(' ');
	})()`)
	if missing != "" {
		k.t.Errorf("the list of keys misses %s", missing)
	}
	if !Eval[bool](k.Page, "document.activeElement.id === 'keys-on'") {
		k.tab("#keys-on", 3)
	}
	k.Press(" ")
	k.Press(kb.Escape)
	k.Wait("!document.querySelector('#help').open")
	k.Press("j")
	if Eval[bool](k.Page, "!!document.querySelector('.r.cur')") {
		k.t.Error("j moves although keys are off")
	}
}

// A whole review of a hundred files only by keyboard.
func TestReviewByKeyboardAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := fixture.Repository(t.Context(), dir, fixture.D1.Make()); err != nil {
		t.Fatal(err)
	}
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	made, _ := signIn(t, prog.SignIn())
	made.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := made.PostForm(prog.URL+"/new", url.Values{"dir": {dir}, "agent": {"script"},
		"message": {"say it is done"}})
	if err != nil || res.StatusCode != http.StatusSeeOther {
		t.Fatal(err, res)
	}
	res.Body.Close()

	k := newKeyboard(t, OpenBrowser(t), prog)
	k.SignIn(prog)
	k.Press("gh")
	k.Live()
	k.tab("#inbox a[href*='/s/']", 40)
	k.Press("\r")
	k.Wait("location.pathname.startsWith('/s/')")
	k.Live()
	k.Press("gd")
	k.arrives("/changes")
	k.uncommitted()
	k.walk()
	k.views()
	k.drafts()
	k.mark()
	k.decide()
	k.talk()
	k.switchOff()
	k.checkNoMouse()
	k.leave()
}
