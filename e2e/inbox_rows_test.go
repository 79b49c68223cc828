package e2e

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// rowOf returns the row of a session by title.
func rowOf(title string) string {
	return "[...document.querySelectorAll('#inbox .inrow')].find(r => r.querySelector('.inlink').textContent === '" +
		title + "')"
}

// Sessions are rows of two lines that a person pins for themselves and labels for all, and filters
// can be saved; fifty rows fit on three screens, and a request is one row. All of it survives a
// restart.
func TestInboxRowsPinsLabelsAndFilters(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	b := OpenBrowser(t)
	ana, ben := b.Page(), b.Page()
	ana.look(1440, 900, "light")
	ana.SignIn(prog)
	accept(ben, inviteBy(ana, prog, "commenter", "Ben"), "Ben", memberWords)
	dir := t.TempDir()
	for _, message := range []string{"say alpha", "say beta", "run touch gamma"} {
		form := url.Values{"agent": {"script"}, "dir": {dir}, "message": {message}}
		awaited[string](ana, "fetch('/new', {method: 'POST', body: new URLSearchParams('"+form.Encode()+
			"')}).then(r => r.url)")
	}
	ana.Open(prog.URL + "/")
	ana.Live()
	ana.Wait(rowOf("run touch gamma") + "?.querySelector('.ask-row')")
	ana.Wait(rowOf("say alpha") + "?.closest('section').ariaLabel === 'Idle'")
	line := Eval[string](ana, rowOf("say alpha")+".querySelector('.line2').innerText")
	if squeeze(line) != filepath.Base(dir)+" Script Ana" {
		t.Errorf("the second line of a row says %q", squeeze(line))
	}
	if h := Eval[float64](ana, rowOf("say alpha")+".offsetHeight"); h > 46 {
		t.Errorf("a row is %v px high: fifty do not fit on three screens", h)
	}
	seen := Eval[string](ana, "[...document.querySelectorAll('.ask-row :is(.ask-line, button, .expand)')].filter(e => "+
		"e.checkVisibility()).map(e => e.innerText.trim()).join()")
	if seen != "touch gamma,Expand,Approve,Deny" {
		t.Errorf("a request is shown as %q", seen)
	}
	if h := Eval[float64](ana, "document.querySelector('.ask').offsetHeight"); h > 44 {
		t.Errorf("the row of a request is %v px high", h)
	}
	ana.Pictures("rows", "#inbox")

	Eval[any](ana, rowOf("say beta")+".querySelector('[action$=\"/pin\"] button').click()")
	ana.Wait(rowOf("say beta") + "?.closest('section').ariaLabel === 'Pinned'")
	Eval[any](ana, rowOf("say beta")+".querySelector('details').open = true")
	ana.Fill("#inbox details[open] [name=labels]", "bug, Release 2, bug")
	ana.Press("\r")
	ana.Wait("[..." + rowOf("say beta") + "?.querySelectorAll('.label-chip') || []].map(c => c.innerText).join() === 'bug,Release 2'")
	ana.Pictures("labeled", "#inbox")
	Eval[any](ana, rowOf("say beta")+".querySelectorAll('.label-chip')[1].click()")
	ana.Wait("location.search.includes('label') && document.querySelectorAll('#inbox .inrow').length === 1")
	ana.Fill("#filter-name", "Next release")
	ana.Press("\r")
	ana.Wait("document.querySelector('.saved-filters [aria-current]')?.innerText === 'Next release'")
	ana.Pictures("saved", ".saved-filters")

	ben.Open(prog.URL + "/")
	ben.Wait("[..." + rowOf("say beta") + ".querySelectorAll('.label-chip')].length === 2 && " + rowOf("say beta") +
		".closest('section').ariaLabel === 'Idle' && !document.querySelector('.saved-filters')")
	if Eval[bool](ben, "[...document.querySelectorAll('#inbox details.menu')].some(d => d.checkVisibility())") {
		t.Error("a commenter is offered to label sessions")
	}
	if status := awaited[int](ben, "fetch("+rowOf("say beta")+".querySelector('[action$=\"/pin\"]').action.replace("+
		"/pin$/, 'labels'), {method: 'POST', body: new URLSearchParams({labels: 'mine'})}).then(r => r.status)"); status != 403 {
		t.Errorf("a commenter who labels a session gets %d", status)
	}
	ben.Allow("403")
	ben.leave()
	ana.leave()
	prog.Kill9()
	prog.Restart()
	ana.SignIn(prog)
	ana.Wait(rowOf("say beta") + "?.closest('section').ariaLabel === 'Pinned'")
	if got := Eval[string](ana, "document.querySelector('.saved-filters').innerText + "+rowOf("say beta")+
		".innerText"); !strings.Contains(got, "Next release") || !strings.Contains(got, "Release 2") {
		t.Errorf("after the program was killed the inbox says %q", got)
	}
}
