package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// drag presses the mouse on one element, moves over others and releases it on the last.
func (p *Page) drag(elements ...string) {
	p.t.Helper()
	at := func(element string) []float64 {
		return Eval[[]float64](p, "(b => [b.x + Math.min(100, b.width / 2), b.y + b.height / 2])("+element+
			".getBoundingClientRect())")
	}
	from := at(elements[0])
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, from[0], from[1], chromedp.ButtonLeft,
		chromedp.ClickCount(1)))
	to := from
	for _, e := range elements[1:] {
		to = at(e)
		p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, to[0], to[1], chromedp.ButtonLeft,
			func(m *input.DispatchMouseEventParams) { m.Buttons = 1 }))
	}
	p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, to[0], to[1], chromedp.ButtonLeft,
		chromedp.ClickCount(1)))
}

// rowWith returns the row with a text, in JavaScript.
func rowWith(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.r')].find(r => r.textContent === %q)", text)
}

// The row under the mouse has a "+" to comment on it, and on more rows by dragging; long lines wrap
// on demand; a narrow screen shows unified instead of split; filtering the list of files leaves no
// empty folders.
func TestLinesByMouse(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "one\n", "deep/er/b.txt": "b\n", "z.txt": "z\n"})
	r.write("a.txt", "one\ntwo\nthree\nfour\n"+strings.Repeat("wide ", 80)+"\n")
	r.write("deep/er/b.txt", "B\n")
	r.write("z.txt", "Z\n")
	r.cold(r.ana, "/changes?scope=uncommitted")
	r.hover(r.ana, file("a.txt")+" .r.a")
	plus := "document.querySelector('.r.a > .plus')"
	r.ana.Wait(plus + "?.parentElement === " + rowWith("two"))
	if got := Eval[string](r.ana, "(b => [b.width, b.height, "+plus+".title].join())("+plus+
		".getBoundingClientRect())"); got != "20,20,Comment on this line" {
		t.Errorf("the button is %s", got)
	}
	r.ana.Shot("plus")
	r.ana.drag(plus, rowWith("three"), rowWith("four"))
	r.ana.Wait("document.activeElement?.closest('form.comment-form')?.dataset.at === 'R2-R4'")
	r.ana.Says("form.comment-form .where", "Lines 2–4")
	r.ana.Shot("range")
	r.ana.Press("\x1b")
	r.ana.Wait("!document.querySelector('#files form.comment-form')")
	r.ana.drag("(r => ({getBoundingClientRect: () => { const b = r.getBoundingClientRect(); return {x: b.x, y: b.y, " +
		"width: 40, height: b.height}; }}))(" + rowWith("three") + ")") // its number
	r.ana.Wait("/R3@/.test(location.hash) && !document.querySelector('#files form.comment-form')")

	tall := "document.querySelector('" + file("a.txt") + " .r:nth-last-child(1)').offsetHeight > 20"
	if Eval[bool](r.ana, tall) {
		t.Error("lines wrap unasked")
	}
	r.ana.Click("#more > summary")
	r.ana.Click(".wrap-lines")
	r.ana.Wait(tall)
	r.cold(r.ana, "/changes?scope=uncommitted&view=split")
	r.ana.Wait(tall) // the setting is kept

	r.ana.Fill("#filter", "z.t")
	r.ana.Wait("[...document.querySelectorAll('#tree li')].filter(li => !li.hidden).length === 1")
	r.ana.Fill("#filter", "b.txt")
	r.ana.Wait("[...document.querySelectorAll('#tree li')].filter(li => !li.hidden).map(li => " +
		"li.textContent.trim()).join() === 'deep/er,b.txt'")
	if !Eval[bool](r.ana, "!!document.querySelector('.file-body.split')") {
		t.Error("the view is not split")
	}
	r.ana.look(390, 844, "light")
	r.ana.Wait("!location.search.includes('split') && document.readyState === 'complete' && " +
		"!document.querySelector('.file-body.split')")
	r.ana.Live()
	if Eval[bool](r.ana, "document.querySelector('#tree').checkVisibility()") {
		t.Error("the list of files lies over a phone's diff")
	}
	if Eval[bool](r.ana, "document.documentElement.scrollWidth > innerWidth || "+
		"document.querySelector('#finish').getBoundingClientRect().right > innerWidth") {
		t.Error("the review is wider than a phone")
	}
	r.ana.Click(".tree-button")
	r.ana.Click("#tree li[data-path='z.txt'] a")
	r.ana.Wait("!document.querySelector('#tree').checkVisibility() && document.querySelector('.r.cur')" +
		"?.closest('.file').dataset.path === 'z.txt'")
	r.ana.Shot("phone")
	r.ana.leave()
	r.ben.leave()
}

// A review from the first comment to the commit: comments are collected until they are submitted,
// threads are answered and resolved in one line, and dangerous actions ask and say what they would
// do.
func TestReviewFlow(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "alpha\n" + far, "b.txt": "b\n"})
	r.git("config", "user.name", "Ana")
	r.git("config", "user.email", "ana@example.com")
	r.cold(r.ana, "/changes?scope=session") // the session starts here
	r.write("a.txt", "ALPHA\n"+far)
	r.write("b.txt", "B\n")
	r.open("")
	if h := Eval[float64](r.ana, "document.querySelector('.rbody').getBoundingClientRect().top - "+
		"document.querySelector('.rbar').getBoundingClientRect().top"); h > 45 {
		t.Errorf("the header of the review is %.0f px high, more than a row", h)
	}
	r.ana.Says("#scope-now", "since the last commit")
	r.ana.hasOneWay()

	r.at(r.ana, "ALPHA")
	r.ana.Press("c")
	r.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
	r.ana.Type("Why in **capitals**?")
	r.ana.Shot("box")
	r.ana.Click("form.comment-form button.main") // "Add to review"
	r.ana.Says(".draft .chip", "Pending")
	r.ana.Says(".draft .text strong", "capitals")
	r.ana.Wait("!document.querySelector('.draft textarea').checkVisibility()")
	r.ana.Says("#finish", "Submit review (1)")
	r.ana.Shot("pending")
	r.ana.Click(".draft .edit > summary")
	r.ana.Wait("document.activeElement?.value === 'Why in **capitals**?'")
	r.ana.Press("\r", chromedp.ModifierCtrl)
	r.ana.Wait("document.querySelector('.draft .chip') && !document.querySelector('.draft .edit').open")
	r.at(r.ana, "B")
	r.ana.Press("c")
	r.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
	r.ana.Type("Never mind.")
	r.ana.Press("\r", chromedp.ModifierCtrl)
	r.ana.Says("#finish", "Submit review (2)")
	r.ana.Click(file("b.txt") + " .draft > header > button")
	r.ana.Says("#finish", "Submit review (1)")

	r.ana.Click("#finish")
	r.ana.Wait("document.activeElement?.id === 'verdict-summary'")
	r.ana.Says("#verdict-form", "1 open comment")
	r.ana.Shot("submit")
	if !Eval[bool](r.ana, "document.querySelector('#verdict-form [name=send]').checked") {
		t.Error("what is submitted is not sent to the agent unless one says so")
	}
	r.ana.Click("#verdict-form button.main")
	r.both(".thr .sent", "sent to the agent")
	r.ana.Wait("document.readyState === 'complete' && !document.querySelector('.draft')")
	r.ana.Live()
	if text := r.ana.Text("#draftcount"); text != "" {
		t.Errorf("after it was submitted, the button says %q", text)
	}

	r.ben.Wait("document.querySelector('.thr .reply textarea').checkVisibility()")
	if n := Eval[int](r.ben, "document.querySelectorAll('.thr .state').length"); n != 1 {
		t.Errorf("a thread has %d states", n)
	}
	low := Eval[float64](r.ben, "document.querySelector('.thr .reply textarea').offsetHeight")
	r.ben.Press("]")
	r.ben.Press("r")
	r.ben.Wait("document.activeElement?.matches('.thr .reply textarea')")
	if bad := Eval[string](r.ben, unseen); bad != "" {
		t.Errorf("the reply one writes: %s", bad)
	}
	r.ben.Type("Because.\n\nBecause of that.")
	r.ben.Wait(fmt.Sprintf("document.querySelector('.thr .reply textarea').offsetHeight > %f", low+20))
	r.ben.Shot("reply")
	r.ben.Press("\r", chromedp.ModifierCtrl)
	r.both(".thr .entries", "Because of that.")
	r.ben.Wait("document.activeElement?.matches('.thr .reply textarea') && document.activeElement.value === ''")
	r.ben.Click(".thr .reply .resolve")
	r.ana.Wait("document.querySelector('.thread').dataset.state === 'resolved'")
	r.cold(r.ben, "/threads?state=all")
	r.ben.Says(".excerpt", "ALPHA")
	if n := Eval[string](r.ben, "document.querySelector('.excerpt [data-n]').dataset.n"); n != "1" {
		t.Errorf("the quote begins at line %s", n)
	}
	r.ben.Shot("threads")

	r.ana.Click("#more > summary")
	r.ana.Shot("more")
	r.ana.Click("#more-ops [popovertarget=op-take]")
	r.ana.Says("#op-take .taken", "a.txt")
	r.ana.Says("#op-take .taken", "b.txt")
	r.ana.Shot("confirm")
	r.ana.Click("#op-take .bar [popovertarget]") // "Cancel"
	r.ana.Wait("!document.querySelector(':popover-open')")
	r.cold(r.ben, "/changes?scope=uncommitted")
	r.ana.Click("#commit-open")
	r.ana.Wait("document.activeElement?.id === 'op-message'")
	r.ana.Type("Say it in capitals")
	r.ana.Shot("commit")
	r.ana.Press("\r", chromedp.ModifierCtrl)
	r.both("#changes-state", "committed 2 files as ")
	r.both("#changes-state", " on main")
	r.both("#changes-state", "Say it in capitals")
	r.ana.Shot("committed")
	r.ana.Click("#changes-state a[href*='scope=session']")
	r.ana.Says(file("a.txt"), "ALPHA")
	r.ana.leave()
	r.ben.leave()
}

// hasOneWay checks that there is only one submit button.
func (p *Page) hasOneWay() {
	p.t.Helper()
	if n := Eval[int](p, "[...document.querySelectorAll('.sendbar button')].filter(b => b.checkVisibility()).length"); n != 1 {
		p.t.Errorf("%d buttons compete in the bar of the review", n)
	}
	if n := Eval[int](p, "[...document.querySelectorAll('.rbar .bad')].filter(b => b.checkVisibility()).length"); n != 0 {
		p.t.Errorf("%d dangerous buttons are in the header", n)
	}
}

// A tap on a line shows its "+", and a tap on the "+" starts a comment.
func TestPhoneCommentsByTouch(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "one\n"})
	r.write("a.txt", "one\ntwo\nthree\n")
	r.ana.phone()
	r.cold(r.ana, "/changes?scope=uncommitted")
	tap := func(element string) {
		at := Eval[[]float64](r.ana, "(b => [b.x + b.width / 2, b.y + b.height / 2])("+element+".getBoundingClientRect())")
		r.ana.touch("touchStart", &input.TouchPoint{X: at[0], Y: at[1]})
		r.ana.touch("touchEnd")
	}
	tap(rowWith("two"))
	r.ana.Wait("document.querySelector('.r > .plus')?.parentElement === " + rowWith("two"))
	tap("document.querySelector('.plus')")
	r.ana.Wait("document.activeElement?.closest('form.comment-form')?.dataset.at === 'R2'")
	r.ana.Click(".tree-button")
	r.ana.Wait("document.querySelector('#filter').checkVisibility()")
	if hint := Eval[string](r.ana, "document.querySelector('#filter').placeholder"); hint != "Filter files" {
		t.Errorf("the filter of a phone says %q", hint)
	}
}
