package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// answerBy posts an answer to the request on a page, whether or not the page offers it, and returns
// the status.
func answerBy(page *Page, choice string) int {
	page.t.Helper()
	return int(awaited[float64](page, `(async () => {
		const form = document.querySelector('form.approval'), fields = new URLSearchParams(new FormData(form));
		fields.set('choice', '`+choice+`');
		return (await fetch(form.action, {method: 'POST', body: fields, redirect: 'manual'})).status;
	})()`))
}

// Only the owner runs a command, or opens a terminal, outside of a session's sandbox. Guests who
// may approve everything and type in terminals can do neither, nor type in that terminal, by pages
// or by the protocol.
func TestOwnerAloneLeavesSandbox(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	prog := Start(t, Options{Boxed: true, Args: []string{"--owner-name", "Ana", "--sandbox-network", "none"}})
	b := OpenBrowser(t)
	owner, guest := b.Page(), b.Page()
	guest.Allow(`40[03]|4[0-9][0-9]`)
	owner.SignIn(prog)
	const approve = `.approval button[data-kind=approve]`
	outside := approve + `[value$='ahphub:outside']`
	session := newSession(owner, prog, "export LEFT=left; ls ~/.ssh; cat "+prog.Data+"/token >/dev/null && echo got''out || echo stayed''in")
	owner.WaitText(".approval .sandbox-says", "Sandbox: this session's files, no network")
	owner.WaitText(".approval .note.warn", "/.ssh")
	owner.Pictures("sandbox-card", ".approval")
	owner.Click(approve)
	owner.WaitText("#turns", "stayedin")
	link := driverLink(owner, prog, session, "prompt", "approve", "guests", "type")
	owner.Open(prog.URL + session)
	owner.Do(chromedp.SendKeys("#compose textarea", "cat "+prog.Data+"/token >/dev/null && echo got''out; echo left:${LEFT-nothing}"))
	owner.Click("#compose button.main")
	owner.WaitText(".approval .cmd", "LEFT")

	join(guest, link, "Ben")
	guest.Open(prog.URL + session)
	guest.WaitText(".approval .cmd", "LEFT")
	guest.Wait(`document.querySelector("` + approve + `").checkVisibility()`)
	if Eval[bool](guest, `document.querySelector("`+outside+`").checkVisibility()`) {
		t.Error("a guest is offered to run a command outside")
	}
	if status := answerBy(guest, "approve:ahphub:outside"); status < 400 {
		t.Errorf("a guest's answer to run it outside: %d", status)
	}
	owner.Click(outside)
	owner.WaitText("#turns", "gotout")
	owner.WaitText("#turns", "left:nothing") // files written in the sandbox are not used outside

	owner.Open(prog.URL + session + "/t")
	owner.Click("#new-terminal summary")
	owner.Click("#new-terminal input[name=sandbox]")
	owner.Pictures("terminal-choice", "#new-terminal")
	owner.Click("#new-terminal .btn.main")
	owner.WaitText(".termstate .unconfined", "No sandbox")
	owner.WaitText(".termtab[aria-current]", "(no sandbox)")
	owner.Pictures("terminal-unconfined", ".termpane")
	terminal := ahp.URI("ahp-terminal:/" + Eval[string](owner, "location.pathname.split('/').pop()"))

	guest.Open(prog.URL + session + "/t")
	if status := int(awaited[float64](guest, `(async () => (await fetch(location.pathname, {method: 'POST', redirect: 'manual',
		body: new URLSearchParams({sandbox: 'none'})})).status)()`)); status < 400 {
		t.Errorf("a guest opens a terminal without a sandbox: %d", status)
	}
	ctx, cancel := (&watcher{ctx: t.Context()}).patient()
	defer cancel()
	ben, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: link[strings.LastIndex(link, "#")+1:], ClientID: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	defer ben.Close()
	if _, err := ben.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	if err := ben.Subscribe(ctx, terminal); err != nil {
		t.Fatal(err)
	}
	err = ben.Call(ctx, "createTerminal", map[string]any{"channel": "ahp-terminal:/" + uuid.NewString(),
		"claim": map[string]string{"kind": "client", "clientId": "ben"},
		"_meta": map[string]any{"ahphub": map[string]string{"sandbox": "none"}}}, nil)
	if refused := new(ahp.Error); !errors.As(err, &refused) || refused.Code != ahp.CodePermissionDenied {
		t.Errorf("a guest's client opens a terminal without a sandbox: %v", err)
	}
	for _, a := range []ahp.Action{
		&ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "ben"}}},
		&ahp.TerminalInputAction{Data: "echo by''ben\r"},
	} {
		if _, err := ben.Dispatch(ctx, terminal, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := ben.Converged(ctx, terminal); err != nil { // both were answered
		t.Fatal(err)
	}
	owner.Click(`.holder button[value=session]`) // it is free, and still the owner's
	if _, err := ben.Dispatch(ctx, terminal, &ahp.TerminalInputAction{Data: "echo by''ben\r"}); err != nil {
		t.Fatal(err)
	}
	if err := ben.Converged(ctx, terminal); err != nil {
		t.Fatal(err)
	}
	owner.Click(`.holder button[value=me]`)
	owner.Says(".termpane.is-mine", "You're in control")
	run(owner, 0, "cat "+prog.Data+"/token >/dev/null && echo by''ana")
	owner.Wait(shows(0) + `.includes('byana')`)
	if Eval[bool](owner, shows(0)+`.includes('byben')`) {
		t.Error("a guest typed in a terminal without a sandbox")
	}
}
