package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// comment comments on a line by keyboard, and sees the thread.
func (j *journey) comment() {
	j.writeOn(j.ana, "func Hello(lang, name string)", j.question)
	j.ana.Says(file("greet.go")+" .thr", "Does every caller know the language?")
	if bold := j.ana.Text(file("greet.go") + " .thr strong"); bold != "language" {
		j.Errorf("the comment's Markdown is shown as %q", bold)
	}
	if under := Eval[string](j.ana, "document.querySelector('"+file("greet.go")+
		" .thr').previousElementSibling.innerText"); !strings.Contains(under, "func Hello") {
		j.Errorf("the thread stands under %q", under)
	}
	j.watcher.wait("the thread", func() bool { return len(j.threads()) == 1 })
}

// writeOn moves to a line with j, opens a box with c and comments.
func (j *journey) writeOn(p *Page, line, text string) {
	j.Helper()
	at := func() bool {
		return Eval[bool](p, fmt.Sprintf("!!document.querySelector('.r.a.cur')?.innerText.includes(%q)", line))
	}
	for range 200 {
		if at() {
			break
		}
		p.Press("j")
	}
	if !at() {
		j.Fatalf("the key j never came to %q", line)
	}
	p.Press("c")
	p.Wait("document.activeElement?.matches('form.comment-form textarea')")
	p.Type(text)
	p.Click("form.comment-form button[value=comment]")
	p.Wait("!document.querySelector('#files form.comment-form')")
}

func (j *journey) threads() []ahp.Annotation {
	s, _ := j.watcher.State(j.session + "/annotations").(*ahp.AnnotationsState)
	if s == nil {
		return nil
	}
	return s.Annotations
}

// share creates a link; a guest joins by it, enters a name and sees the session.
func (j *journey) share() {
	j.ana.Follow("a[href*='/share']")
	if Eval[string](j.ana, "document.querySelector('input[name=part]:checked').value") != "" {
		j.Error("Share of a page of changes does not begin with the whole session")
	}
	j.ana.Click("input[name=role][value=commenter]")
	j.ana.Fill("input[name=label]", "the reviewers")
	j.ana.Click(".linkform button.main")
	j.ana.Wait("document.querySelector('#made')?.value.includes('/j#')")
	link := Eval[string](j.ana, "document.querySelector('#made').value")
	j.ana.Pictures("share", ".made")

	j.ben.Open(link)
	j.ben.Wait("!location.hash && document.activeElement")
	j.ben.Pictures("join", "form")
	j.ben.Fill("#name", "Ben")
	j.ben.Click("form button.main")
	j.ben.Wait("location.pathname.startsWith('/s/')")
	j.ben.Live()
	j.ben.Says("#turns", "approved by")
	j.ben.Pictures("guest", ".foot")

	j.ana.Open(j.program.URL + j.reviewURL)
	j.ana.Live()
	j.ana.Says("#presence", "Ben")
}

// talk has two viewers comment on lines: each gets the other's comments without a
// reload.
func (j *journey) talk() {
	j.ben.Follow(".tabs a[data-go='g d']")
	j.ben.Click("#scopes > summary")
	j.ben.Click("#scopes a[data-scope=session]")
	j.ben.Wait("location.search.includes('scope=session')")
	j.ben.Live()
	for _, p := range []*Page{j.ana, j.ben} {
		Eval[bool](p, "window.unloaded = false, true")
	}
	thread := file("greet.go") + " .thr"
	j.ben.Says(thread, "Does every caller know the language?")
	j.ben.Press("]")
	j.ben.Press("r")
	j.ben.Wait("document.activeElement?.matches('.thr .reply textarea')")
	j.ben.Type("Only the tests call it, and they do.")
	j.ben.Press("\r", chromedp.ModifierCtrl)
	for _, p := range []*Page{j.ana, j.ben} {
		p.Says(thread, "Only the tests call it, and they do.")
		p.Says(thread, "Ben")
	}
	j.ben.Press("\x1b") // leaves the reply field, which stays available
	j.writeOn(j.ben, `words := map[string]string`, j.note)
	j.ana.Says(file("word.go")+" .thr", j.note)
	j.ana.Pictures("review", ".thr")

	j.ana.Press("]")
	j.ana.Press("e")
	for _, p := range []*Page{j.ana, j.ben} {
		p.Wait("document.querySelector('" + thread + " .thread')?.dataset.state === 'resolved'")
	}
	j.watcher.wait("the thread's end", func() bool {
		return slices.ContainsFunc(j.threads(), func(a ahp.Annotation) bool {
			return a.Resolved &&
				len(a.Entries) == 2
		})
	})
	for _, p := range []*Page{j.ana, j.ben} {
		if Eval[bool](p, "window.unloaded !== false") {
			j.Error("a page was loaded again to see what the other wrote")
		}
	}
}

// markReviewed marks a file with the key v; all viewers see it, and by whom.
func (j *journey) markReviewed() {
	j.ana.Click("#tree li[data-path='greet_test.go'] a")
	j.ana.Press("v")
	marked := file("greet_test.go") + "[data-reviewed]"
	for _, p := range []*Page{j.ana, j.ben} {
		p.Wait("document.querySelector('" + marked + "')")
		p.Says("#review-counts", "1/4 reviewed")
		p.Says(marked+" .file-head", "by ")
	}
}

// sendToAgent sends the open comments to the agent as a separate turn.
func (j *journey) sendToAgent() {
	j.ana.Click("#finish")
	j.ana.Says("#send-note", "1 open comment")
	j.ana.Click("#verdict-form button[value=give]")
	j.watcher.wait("a turn with the comments", func() bool {
		turns := j.watcher.chat(j.chat).Turns
		return len(turns) == 2 && slices.ContainsFunc(turns[1].Message.Attachments, func(a ahp.MessageAttachment) bool {
			at, ok := a.Value.(*ahp.MessageAnnotationsAttachment)
			return ok && at.Resource == j.session+"/annotations" && len(at.AnnotationIDs) > 0
		})
	})
	j.ana.Open(j.program.URL + j.chatURL)
	j.ana.Live()
	j.ana.Says("#turns", j.note)
	j.ana.Says("#turns .turn:last-child .said", "1 comment")
	j.ana.Wait(settled)
	j.ben.Says(file("word.go")+" .thr", "sent to the agent")
	j.ana.Pictures("sent", ".chips")
}

// settled is true for a chat whose last turn has ended.
const settled = "document.querySelector('#turns .turn:last-child .foot .num') && " +
	"!document.querySelector('#composer-mode[data-running]')"

// crash kills and restarts the host: both pages reconnect and show the same as before.
func (j *journey) crash() {
	sent := j.watcher.LastSeq()
	before := map[*Page]string{j.ana: j.ana.reading(), j.ben: j.ben.reading()}
	for _, p := range []*Page{j.ana, j.ben} {
		p.Allow(hostAway)
	}
	j.program.Kill9()
	for _, p := range []*Page{j.ana, j.ben} {
		p.Wait("document.documentElement.dataset.live === 'off'")
	}
	j.program.Restart()
	j.watcher.reconnect()
	for _, p := range []*Page{j.ana, j.ben} {
		p.Live()
		p.reads("before the crash", func() string { return before[p] })
	}
	fresh := watch(j.T, j.program, "another") // gets the current numbers
	if now := fresh.LastSeq(); now < sent {
		j.Errorf("serverSeq went back from %d to %d", sent, now)
	}
}

// reading returns the text of a page without times, other visitors, buttons that follow the
// pointer, and the pane that loads itself.
func (p *Page) reading() string {
	p.t.Helper()
	return squeeze(Eval[string](p, `(() => {
		const c = document.querySelector('#main').cloneNode(true);
		for (const e of c.querySelectorAll('time, .saved, #threadpos, #new-pill, .pane, .whom, .writes, .hunk-tools, [hidden]')) e.remove();
		return c.textContent;
	})()`))
}

// reads waits until the page shows the same as another one; updates may still arrive.
func (p *Page) reads(when string, want func() string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience)
	defer cancel()
	for {
		now, other := p.reading(), want()
		if now == other {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Errorf("%s reads\n%s\n%s it reads\n%s", p.where(), now, when, other)
			return
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// goOn works after the crash: another command, seen live by both, and by a newly opened page.
func (j *journey) goOn() {
	sent := j.watcher.LastSeq()
	j.ana.Click("#message")
	j.ana.Type("git diff --stat")
	j.ana.Press("\r")
	j.ana.Click(".approval button[data-kind=approve]")
	j.watcher.wait("a third turn", func() bool { return len(j.watcher.chat(j.chat).Turns) == 3 })
	if now := j.watcher.LastSeq(); now <= sent {
		j.Errorf("serverSeq stands at %d, it was %d", now, sent)
	}
	j.ana.Says("#turns .turn:last-child", "3 files changed")
	j.ana.Wait(settled)
	anew := j.ana.Beside()
	anew.Open(j.program.URL + j.chatURL)
	anew.Live()
	j.ana.reads("opened anew", anew.reading)
	anew.leave()
}

// leave ends the page's stream before its host stops.
func (p *Page) leave() { p.Open("about:blank") }
