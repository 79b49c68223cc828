package e2e

import (
	"net/url"
	"strings"
	"testing"
)

// A plan is one list below the turn that is updated in place: steps differ by mark and word, no
// version is a separate row, nothing announces it, and it stays folded.
func TestPlanIsOneListUpdatedInPlace(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.SignIn(prog)
	form := url.Values{"agent": {"script"}, "dir": {t.TempDir()}, "message": {
		"todo [x] Read the code | [>] Change <b>one</b> thing | [ ] Run the tests\nrun true\n" +
			"todo [x] Read the code | [x] Change <b>one</b> thing | [>] Run the tests\nrun true\n" +
			"todo [x] Read the code | [x] Change <b>one</b> thing | [>] Run the tests | [ ] Say so\nsay Over."}}
	ana.Open(awaited[string](ana, "fetch('/new', {method: 'POST', body: new URLSearchParams('"+form.Encode()+
		"')}).then(r => r.url)"))
	ana.Live()
	const steps = "[...document.querySelectorAll('.plan .step')].map(s => s.querySelector('.grow').textContent).join()"
	shows := func(progress, want string) {
		t.Helper()
		ana.WaitText(".plan summary", progress)
		if got := Eval[string](ana, steps); got != want {
			t.Errorf("the steps are read as\n%s\nwant\n%s", got, want)
		}
		if n := Eval[int](ana, "document.querySelectorAll('.plan').length"); n != 1 {
			t.Errorf("there are %d plans", n)
		}
	}
	ana.WaitText(".approval", "true")
	shows("1 of 3 done", "Done: Read the code,In progress: Change <b>one</b> thing,Pending: Run the tests")
	if Eval[int](ana, "new Set([...document.querySelectorAll('.plan .step .glyph')].map(g => g.innerHTML)).size") != 3 {
		t.Error("done, in progress and pending have the same mark")
	}
	if Eval[bool](ana, "!!document.querySelector('.plan').closest('[aria-live], [role=log], [role=status]')") {
		t.Error("each change of the plan is read out")
	}
	ana.Pictures("plan", ".turn")
	ana.Click(".approval button[data-kind=approve]")
	shows("2 of 3 done", "Done: Read the code,Done: Change <b>one</b> thing,In progress: Run the tests")
	ana.Click(".plan summary")
	ana.Wait("!document.querySelector('.plan details').open")
	ana.WaitText(".plan .now", "Run the tests")
	ana.WaitText(".approval", "true")
	ana.Click(".approval button[data-kind=approve]")
	ana.WaitText(".parts", "Over.")
	ana.Wait("document.querySelector('.plan').textContent.includes('Not finished')") // once the turn has ended; it is folded
	shows("2 of 4 done", "Done: Read the code,Done: Change <b>one</b> thing,Not finished: Run the tests,Pending: Say so")
	if Eval[bool](ana, "document.querySelector('.plan details').open") {
		t.Error("a plan that was folded opened by itself")
	}
	if text := Eval[string](ana, "document.querySelector('.turn').textContent"); strings.Contains(text, "Plan: ") ||
		strings.Contains(text, `"state"`) {
		t.Errorf("versions of the plan are shown beside it:\n%s", text)
	}
	ana.Open(Eval[string](ana, "location.href"))
	shows("2 of 4 done", "Done: Read the code,Done: Change <b>one</b> thing,Not finished: Run the tests,Pending: Say so")
	saved := awaited[string](ana, "fetch(location.pathname + '?as=md').then(r => r.text())")
	if strings.Count(saved, "Read the code") != 4 || !strings.Contains(saved, "- [x] Change <b>one</b> thing") {
		t.Errorf("the chat is saved with\n%s", saved)
	}
}
