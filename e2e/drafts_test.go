package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// drafting is a review reached through a front.
type drafting struct {
	*reviewing
	front *front
	page  string
}

// A discarded comment is gone, and sending a comment does not affect text typed meanwhile.
func TestDraftsFollowTheirAuthor(t *testing.T) {
	t.Parallel()
	r := review(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
	r.write("a.txt", "one\n2\nthree\nfour\n")
	x := &drafting{r, openFront(t, r.program), ""}
	x.ana.Allow(`/(drafts|reply)\)|Failed to load resource`)
	x.ana.signInBy(x.front, r.program)
	x.page = strings.Replace(r.base, r.program.URL, x.front.URL, 1) + "/changes?scope=uncommitted"
	x.discard()
	x.discardWhileSaving()
	x.leaveAndDiscard()
	x.comment()
	x.reply()
}

// reload opens the review again immediately, without waiting for pending requests.
func (x *drafting) reload() {
	x.Helper()
	x.ana.Open(x.page)
	x.ana.Live()
	x.ana.Wait("document.querySelector('#files .file .r')")
}

// box opens a comment on the first changed line.
func (x *drafting) box(text string) {
	x.Helper()
	x.ana.Press("nc")
	x.ana.Wait("document.activeElement?.matches('form.comment-form textarea')")
	x.ana.Type(text)
}

func (x *drafting) hasNone(when string) {
	x.Helper()
	x.reload()
	if n := Eval[int](x.ana, "document.querySelectorAll('#review form.comment-form').length"); n != 0 {
		x.Errorf("%s: the comment is there again", when)
	}
}

// underWay waits until n requests are held back.
func (x *drafting) underWay(n int) {
	x.Helper()
	waitUntil(x.T, "the requests", func() error {
		if got := x.front.holding(); got != n {
			return fmt.Errorf("%d are under way, not %d", got, n)
		}
		return nil
	})
}

const autosaved = "new Promise(done => setTimeout(() => done(true), 900))" // the page saves 700 ms after a key

// discard discards the comment before its first save, and waits beyond that time.
func (x *drafting) discard() {
	x.reload()
	x.box("never mind")
	x.ana.Click("form.comment-form button[value=discard]")
	x.ana.Wait("!document.querySelector('#review form.comment-form')")
	awaited[bool](x.ana, autosaved)
	x.hasNone("discarded at once")
}

// discardWhileSaving discards a comment while its save is in progress; both arrive together.
func (x *drafting) discardWhileSaving() {
	x.front.hold("/drafts")
	x.box("never mind this either")
	x.underWay(1)
	x.ana.Click("form.comment-form button[value=discard]")
	x.underWay(2)
	x.front.let("/drafts")
	x.underWay(0)
	x.hasNone("discarded while it was saved")
}

// leaveAndDiscard leaves the page, which saves the text once; Escape in an emptied box also deletes
// the draft.
func (x *drafting) leaveAndDiscard() {
	x.box("keep this")
	waitUntil(x.T, "the draft of the page that was left", func() error { // it is sent in parallel to the next page
		x.reload()
		if text := Eval[string](x.ana,
			"document.querySelector('#review form.comment-form.draft textarea')?.value ?? ''"); text != "keep this" {
			return fmt.Errorf("it reads %q", text)
		}
		return nil
	})
	x.ana.Click("#review form.comment-form .edit > summary")
	x.ana.Fill("#review form.comment-form textarea", " ")
	x.ana.Press("\x1b")
	x.ana.Wait("!document.querySelector('#review form.comment-form')")
	x.ana.Wait(`document.querySelector('#draftcount').textContent === ''`)
	x.hasNone("emptied")
}

// comment sends a comment and continues typing: the new text stays, as a separate draft.
func (x *drafting) comment() {
	x.front.hold("/drafts")
	x.box("the first")
	x.ana.Click("form.comment-form button[value=comment]")
	x.underWay(1)
	x.ana.Wait("document.querySelector('#review form.comment-form textarea').value === ''")
	x.ana.Do(focus("#review form.comment-form textarea"))
	x.ana.Type("the second")
	x.front.let("/drafts")
	x.ana.Says(".thr .entries", "the first")
	x.ana.Wait("document.querySelector('#review form.comment-form textarea').value === 'the second'")
	x.ana.Wait("document.querySelector('#review form.comment-form .saved').textContent === 'Saved'")
	x.ana.Click("form.comment-form button[value=discard]")
	x.ana.Wait(`document.querySelector('#draftcount').textContent === ''`)

	x.front.drop("/drafts")
	x.box("lost on the way")
	x.ana.Click("form.comment-form button[value=comment]")
	x.ana.Wait("document.querySelector('#toast').textContent !== ''")
	x.ana.Wait("document.querySelector('#review form.comment-form textarea').value === 'lost on the way'")
	x.front.let("/drafts")
	x.ana.Click("form.comment-form button[value=discard]")
	x.ana.Wait("!document.querySelector('#review form.comment-form')")
}

// reply replies in a thread and continues typing.
func (x *drafting) reply() {
	x.front.hold("/reply")
	x.ana.Do(focus(".thr .reply textarea"))
	x.ana.Type("answer one")
	x.ana.Press("\r", chromedp.ModifierCtrl)
	x.underWay(1)
	x.ana.Type("answer two")
	x.front.let("/reply")
	x.ana.Says(".thr .entries", "answer one")
	x.ana.Wait("document.querySelector('.thr .reply textarea').value === 'answer two'")
	x.front.drop("/reply")
	x.ana.Press("\r", chromedp.ModifierCtrl)
	x.ana.Wait("document.querySelector('.thr .reply textarea').value === 'answer two' && " +
		"document.querySelector('#toast').textContent !== ''")
	x.front.let("/reply")
	x.ana.Press("\r", chromedp.ModifierCtrl)
	x.ana.Says(".thr .entries", "answer two")
	x.ana.Wait("document.querySelector('.thr .reply textarea').value === ''")
}
