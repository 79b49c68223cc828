package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The palette finds sessions, files and commands, reports when it finds none, and closes on Esc
// with any input.
func TestPalette(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "write notes.txt remember\nsay done")
	ana.Click(".asks button[data-kind=approve]")
	ana.WaitAnswer("done")
	ana.WaitText(".filelist", "notes.txt")
	open := func() {
		t.Helper()
		ana.Press("k", chromedp.ModifierCtrl)
		// a closed dialog keeps the focus until the next frame
		ana.Wait("document.querySelector('#palette')?.open && document.activeElement?.id === 'palette-q'")
	}
	open()
	ana.Type("zzz")
	ana.WaitText("#palette-list", "No results")
	ana.Press("\x1b")
	ana.Wait("!document.querySelector('#palette').open")
	open()
	for query, want := range map[string]string{"write not": "Sessions", "threads": "This session",
		"notes.t": "Sessions,Files", "archive s": "Commands"} {
		Eval[bool](ana, "(document.querySelector('#palette-q').value = '', true)")
		ana.Type(query)
		ana.Wait("[...document.querySelectorAll('#palette-list h3')].map((h) => h.textContent).join() === '" + want +
			"'")
	}
	Eval[bool](ana, "(document.querySelector('#palette-q').value = '', true)")
	ana.Type("keyboard")
	ana.Press("\r")
	ana.Wait("document.querySelector('#help').open && !document.querySelector('#palette').open")
	ana.Press("\x1b")
	open()
	ana.Type("changes")
	ana.Press("\r")
	ana.Wait("location.pathname.endsWith('/changes')")
}

// Esc closes an open menu and returns the focus to its button, also from the field inside.
func TestEscapeClosesMenu(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say hello")
	const button = "summary[aria-label=\"Session menu\"]"
	for _, inside := range []string{button, "#new-title"} {
		ana.Click(button)
		ana.Wait("document.querySelector('" + button + "').parentElement.open")
		Eval[bool](ana, "(document.querySelector('"+inside+"').focus(), true)")
		ana.Press("\x1b")
		ana.Wait("!document.querySelector('" + button + "').parentElement.open && document.activeElement.matches('" +
			button + "')")
	}
}

// A chat started by another one appears in the tabs of open pages, and the current tab stays
// marked.
func TestNewChatAppearsInTabs(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "spawn say from the helper\nsay done")
	ana.WaitAnswer("done")
	ana.Wait("document.querySelectorAll('#chats a').length === 2 && document.querySelectorAll('#chats " +
		"a[aria-current]').length === 1")
}

// A viewer who reads further up is shown that the turn below continues, even if only its text
// grows.
func TestPillWhileTurnStreams(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say "+strings.Repeat("a long answer that fills the page ", 300)+
		"\ncount 4000 5")
	ana.WaitAnswer("fills the page")
	Eval[bool](ana, "(document.querySelector('#scroll').scrollTop = 0, true)")
	ana.Wait("(document.querySelector('#scroll').scrollTop = 0, !document.querySelector('#new-pill').hidden)")
	if text := ana.Text("#new-pill"); !strings.Contains(text, "ew") {
		t.Errorf("the pill says %q", text)
	}
	ana.Click("#new-pill")
	ana.Wait("document.querySelector('#new-pill').hidden")
}

// The changed files are shown beside the chat; on a narrow screen they open on top of it.
func TestChangedFilesBesideChat(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "say first\nwrite notes.txt remember\nsay done")
	ana.WaitAnswer("first")
	shown := "!!document.querySelector('.pane').checkVisibility()"
	if Eval[bool](ana, shown) {
		t.Error("the list of changed files is open before there are any")
	}
	ana.Click(".asks button[data-kind=approve]")
	ana.Wait(shown)
	ana.WaitText(".filelist", "notes.txt")
	ana.Press("z")
	ana.Wait("!(" + shown + ")")
	ana.Click(".pane-open")
	ana.Wait(shown)
	for _, width := range []int64{830, 1100} {
		ana.look(width, 900, "light")
		ana.Open(Eval[string](ana, "location.href"))
		ana.Live()
		if w := Eval[float64](ana, "document.querySelector('#compose').getBoundingClientRect().width"); w < 400 ||
			Eval[bool](ana, shown) {
			t.Errorf("at %d px the composer is %.0f px wide, and the files lie over it: %v", width, w,
				Eval[bool](ana, shown))
		}
	}
	ana.Click(".pane-open")
	ana.Wait(shown)
	ana.Click(".pane [data-pane-toggle]")
	ana.Wait("!(" + shown + ")")
	ana.Click("summary[aria-label=\"Session menu\"]")
	ana.Click("[data-info]")
	ana.WaitText("#info[open]", "Ask ")
	if raw := Eval[[]string](ana, `[...document.querySelectorAll('#info dd:not(.mono)')].map(d => d.textContent.trim()).filter(t => !/^[A-Z0-9]/.test(t))`); len(raw) > 0 {
		t.Errorf("the session info shows raw values: %q", raw)
	}
}

// A phone reaches threads and automations, and shows whole paths in one column.
func TestPhoneReachesEverything(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(390, 844, "light")
	ana.SignIn(p)
	ana.Open(p.URL + "/new")
	if Eval[bool](ana, "[...document.querySelectorAll('kbd')].some(k => k.checkVisibility())") {
		t.Error("a phone is told of keys")
	}
	ana.Click(".tabbar a[href='/automations']")
	ana.Wait("location.pathname === '/automations'")
	const name = "a/directory/with/a/long/name/and/a-file-with-one.txt"
	beginScript(t, p, ana, t.TempDir(), "write "+name+" remember\nsay done")
	ana.Wait("!!document.querySelector('.asks .edits[data-drawn]')") // it moves the buttons below it
	ana.Click(".asks .deny > summary")
	ana.Wait("!!document.querySelector('.asks .deny[open]')")
	if cut := Eval[float64](ana, `(e => { const s = getComputedStyle(e), c = document.createElement('canvas').getContext('2d');
		c.font = s.fontSize + ' ' + s.fontFamily; return c.measureText(e.placeholder).width - e.clientWidth + 2 * parseFloat(s.paddingLeft); })(`+
		`document.querySelector('.asks .deny input'))`); cut > 0 {
		t.Errorf("%.0f px of the hint are cut in the field of a reason", cut)
	}
	if apart := Eval[float64](ana, `(() => { const [cancel, deny] = ['.asks .deny > summary', '.asks .deny button'].map(
		q => document.querySelector(q).getBoundingClientRect()); return Math.abs(cancel.top - deny.top); })()`); apart > 1 {
		t.Errorf("Cancel is %.0f px apart from the row of Deny", apart)
	}
	ana.Shot("deny")
	ana.Click(".asks button[data-kind=approve]")
	ana.WaitAnswer("done")
	base := Eval[string](ana, "location.origin + location.pathname.match(/^\\/s\\/[^/]+/)[0]")
	ana.Open(base + "/changes?view=split")
	ana.Wait("!location.search.includes('split') && !document.querySelector('.file-body.split')")
	ana.WaitText(".file-path", "a-file-with-one.txt")
	if cut := Eval[int](ana,
		"[...document.querySelectorAll('.file-path, .file-path *')].filter(e => e.scrollWidth > e.clientWidth + 1 && "+
			"getComputedStyle(e).display !== 'inline').length"); cut != 0 {
		t.Errorf("%d parts of the file's path are cut", cut)
	}
	ana.Click(".tabbar a[href$='/threads']")
	ana.Wait("location.pathname.endsWith('/threads')")
}

// In split view, a comment is below its own side, and switching the view keeps the position.
func TestSplitViewKeepsSideAndPlace(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "line %d\\n", i)
	}
	p := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	beginScript(t, p, ana, t.TempDir(), "write long.txt "+lines.String()+"\nsay done")
	ana.Click(".asks button[data-kind=approve]")
	ana.WaitAnswer("done")
	base := Eval[string](ana, "location.origin + location.pathname.match(/^\\/s\\/[^/]+/)[0]")
	ana.Open(base + "/changes?view=split")
	ana.Live()
	ana.Wait("document.querySelectorAll('.r:not(.e)').length >= 300")
	row := "[...document.querySelectorAll('.r:not(.e)')].find(r => r.textContent.includes('line 250'))"
	Eval[bool](ana, "("+row+".scrollIntoView({block: 'center'}), true)")
	ana.Press("jc")
	ana.Wait("!!document.querySelector('form.comment-form')")
	if left, half := Eval[float64](ana, "document.querySelector('form.comment-form').getBoundingClientRect().left"),
		Eval[float64](ana, "(b => b.left + b.width / 2)(document.querySelector('.file-body').getBoundingClientRect())"); left < half {
		t.Errorf("a comment on a new line begins at %.0f, left of the middle at %.0f", left, half)
	}
	ana.Press("\x1b")
	at := Eval[string](ana, "document.querySelector('.r.cur').textContent")
	if n, err := strconv.Atoi(regexp.MustCompile(`line (\d+)`).FindStringSubmatch(at)[1]); err != nil || n < 200 {
		t.Errorf("the first line that j went to is %q, far from those in sight", at)
	}
	ana.Press("m")
	ana.Wait("!location.search.includes('split')")
	ana.Live()
	ana.Wait("(r => r && r.top > 60 && r.bottom < " +
		"innerHeight)(document.querySelector('.r.sel')?.getBoundingClientRect())")
	if now := Eval[string](ana, "document.querySelector('.r.sel').textContent"); now != at {
		t.Errorf("the other view opens at %q, not at %q", now, at)
	}
	Eval[bool](ana, `(f => { // as the server sends a file that has changed
		const news = f.cloneNode(true);
		for (const r of news.querySelectorAll('.r')) r.classList.remove('sel', 'cur');
		f.replaceWith(news);
		return true;
	})(document.querySelector('.file'))`)
	ana.Wait("!!document.querySelector('.r.sel.cur')")
	if now := Eval[string](ana, "document.querySelector('.r.sel').textContent"); now != at {
		t.Errorf("when the file comes anew, one is at %q, not at %q", now, at)
	}
	ana.Press("c")
	ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
	ana.Type("on the new side")
	ana.Click("form.comment-form button[value=comment]")
	ana.Says(".thr", "on the new side")
	ana.Open(base + "/changes?view=split")
	ana.Live()
	ana.Wait("document.querySelector('.thr')")
	if Eval[bool](ana, "(b => document.querySelector('.thr').getBoundingClientRect().left < b.left + b.width / 2)"+
		"(document.querySelector('.file-body').getBoundingClientRect())") {
		t.Error("a thread on a new line stands under the old side when the page is opened again")
	}
}
