package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Two people in two browsers: each sees who the other is, where they are and what they write; one
// follows the other; and a person who leaves disappears.
func TestPresence(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line\n", 300)
	r := review(t, map[string]string{"a.txt": "alpha\n" + far + "beta\n", "b.txt": long, "c.txt": "gamma\n"})
	r.write("a.txt", "ALPHA\n"+far+"BETA\n")
	r.write("b.txt", strings.ReplaceAll(long, "a line", "another line"))
	r.write("c.txt", "GAMMA\n")
	link := share(r.ana, r.program, strings.TrimPrefix(r.base, r.program.URL), "driver")
	ana, ben := r.ana, OpenBrowser(t).Page()
	ben.look(1440, 900, "dark")
	join(ben, link, "Ben Kim")
	ben.Live()
	r.cold(ana, "/changes?scope=uncommitted")

	who := `document.querySelector('#people [data-name="Ben Kim"]')`
	ana.Wait(who + `?.dataset.page === 'chat' && ` + who + `.querySelector('.tag').textContent === 'guest'`)
	ana.Says("#faces", "Follow Ben Kim")
	if Eval[bool](ana, `[...document.querySelectorAll('#faces .face')].filter(f => f.checkVisibility()).length !== 1`) {
		t.Error("one's own face is shown among the others")
	}

	// They write where the other one is reading.
	ana.Follow(".tabs a[data-go='g c']")
	ben.Click("#message")
	ben.Type("What about")
	ana.Says("#typing", "Ben Kim is writing…")
	ana.Shot("typing")
	ben.Fill("#message", "")
	r.cold(ana, "/changes?scope=uncommitted")

	// A person's position in the review: in the tree, at the line, and in words.
	r.cold(ben, "/changes?scope=uncommitted")
	ben.Press("n")
	ben.Press("n")
	line := Eval[string](ben, `document.querySelector('.r.cur').dataset.l`)
	ana.Wait(`document.querySelector('#tree li[data-path="a.txt"] .whom')?.textContent === 'BK'`)
	ana.Wait(fmt.Sprintf(`document.querySelector('.r > .whom')?.parentElement.dataset.l === %q`, line))
	ana.Click("#here summary")
	ana.Says("#people", "a.txt, old line 14")
	ana.Shot("list")
	ana.Click("#here summary")
	ben.Press("c")
	ben.Type("Why?")
	ana.Wait(`document.querySelector('.r > .whom.writes')`)
	ana.Shot("line")
	ben.Press("\x1b")

	// Following: shown to both, across files and pages, until the follower acts.
	ana.Click("#faces .face:not(.self)")
	ana.Says("#following", "Following Ben Kim")
	ben.Says("#followers", " follows you")
	ben.Press("J")
	ben.Wait(`document.querySelector('#tree li.here')?.dataset.path === 'b.txt'`)
	ana.Wait(`Math.abs(document.querySelector('.file[id$="' + document.querySelector('#tree li[data-path="b.txt"]').id.slice(3) + '"]').getBoundingClientRect().top) < 200`)
	ana.Shot("following")
	ben.Shot("followed")
	ben.Click(".tabs a[data-go='g r']")
	ana.Wait(`location.pathname.endsWith('/threads') && document.querySelector('#following')`)
	ben.Click(".tabs a[data-go='g d']")
	ana.Wait(`location.pathname.endsWith('/changes') && document.querySelector('#following')`)
	ben.Says("#followers", " follows you")
	ana.Press("\x1b")
	ana.Wait(`!document.querySelector('#following') && !document.body.classList.contains('following')`)
	ben.Wait(`!document.querySelector('#followers')`)

	ben.leave()
	ana.Wait(`!` + who + ` && !document.querySelector('.whom')`)
	ana.leave()
}

// On a phone, the list shows who is present, with targets of sufficient size.
func TestPresenceOnAPhone(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	owner, guest := b.Page(), b.Page()
	owner.SignIn(prog)
	session := newSession(owner, prog, "say hello")
	link := share(owner, prog, session, "viewer")
	owner.Open(prog.URL + session)
	owner.Live()
	guest.look(320, 640, "light")
	join(guest, link, "Ana")
	guest.Live()
	guest.Click("#here summary")
	guest.Says("#people", "Chat")
	guest.accessible("phone list", true)
	owner.look(1440, 900, "dark")
	owner.Click("#here summary")
	owner.Says("#people", "Ana")
	owner.accessible("dark list", false)
	owner.Do(chromedp.Reload())
	owner.Live()
	guest.Wait(`document.querySelectorAll('#people > li').length === 2`)
	owner.leave()
	guest.leave()
}
