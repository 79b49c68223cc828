package e2e

import (
	"net/url"
	"strings"
	"testing"
)

// A request shows its action and target with three buttons; the reason field opens after Deny, and
// Enter there never approves. Afterwards a call is one line: its command or file, once, and its
// result.
func TestToolCallsAreShownAsCardsAndRows(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana", "--agent", "script"}})
	ana := OpenBrowser(t).Page()
	ana.SignIn(prog)
	form := url.Values{"agent": {"script"}, "dir": {t.TempDir()},
		"message": {"run echo built\nrun echo broken; exit 3\nedit notes.txt a line\nrun touch refused\nsay Over."}}
	ana.Open(awaited[string](ana, "fetch('/new', {method: 'POST', body: new URLSearchParams('"+form.Encode()+
		"')}).then(r => r.url)"))
	ana.Live()
	for _, next := range []string{"echo built", "echo broken", "notes.txt"} {
		ana.WaitText(".approval", next)
		const seen = "[...document.querySelectorAll('.approval :is(button, summary.btn, input)')].filter(e => " +
			"e.checkVisibility()).map(e => e.innerText).join()"
		if got := Eval[string](ana, seen); !strings.HasPrefix(got, "Approve,Always allow ") ||
			!strings.HasSuffix(got, " in this session,Deny") {
			t.Errorf("the request for %s offers %s", next, got)
		}
		ana.Pictures("card-"+strings.Fields(next)[0], ".approval")
		ana.Click(".approval button[data-kind=approve]")
		ana.Wait("!document.querySelector('.approval')?.innerText.includes('" + next + "')")
	}
	ana.WaitText(".approval", "touch refused")
	ana.Wait("!document.querySelector('#attention').checkVisibility()") // the request itself is visible
	Eval[any](ana, "document.querySelector('.turn').style.paddingBottom = '200vh', document.querySelector('#scroll').scrollTop = 1e6")
	ana.Wait("document.querySelector('#attention').checkVisibility()")
	ana.Click(".attention")
	ana.Wait("!document.querySelector('#attention').checkVisibility()")
	ana.Click(".approval .deny summary")
	ana.Wait("document.querySelector('.approval [name=reason]').checkVisibility()")
	ana.Pictures("deny", ".approval")
	ana.Wait("document.activeElement.name === 'reason'")
	ana.Type("not on a Friday")
	ana.Press("\r")
	ana.WaitText(".parts", "Over.")
	rows := Eval[[]string](ana, "[...document.querySelectorAll('.tool')].map(t => t.querySelector('summary').innerText"+
		".replace(/\\s+/g, ' ').trim())")
	want := []string{"Command echo built approved by Ana exit 0", "Command echo broken; exit 3 approved by Ana exit 3",
		"Edit notes.txt approved by Ana +1 −0", "Command touch refused Denied by Ana"}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the calls are shown as\n%s", got)
	}
	ana.Says("#turns", "not on a Friday")
	if n := Eval[int](ana, "document.querySelector('.parts').textContent.split('echo broken').length - 1"); n != 1 {
		t.Errorf("a command is printed %d times", n)
	}
	if Eval[bool](ana, "document.querySelector('.tool .out').checkVisibility()") {
		t.Error("the output of a command that went well is not folded")
	}
	ana.Click(".tool .fold summary")
	ana.Wait("document.querySelector('.tool .out').checkVisibility()")
	ana.Says(".tool .out", "built")
	ana.Pictures("rows", ".tool")
}
