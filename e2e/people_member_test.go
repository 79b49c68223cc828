package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// inviteBy creates an invitation by the form and returns its address.
func inviteBy(page *Page, prog *Program, role, name string) string {
	page.t.Helper()
	page.Open(prog.URL + "/people")
	if Eval[bool](page, `!document.querySelector('.invite').open`) {
		page.Click(`.invite > summary`)
	}
	page.Click(`.invite input[name=role][value=` + role + `]`)
	page.Do(chromedp.SetValue(`.invite input[name=for]`, name))
	page.Shot("invite")
	page.Click(`.invite .btn.main`)
	page.Wait(`document.querySelector('#made')?.value.includes('/invite#')`)
	page.Shot("invited")
	return Eval[string](page, `document.querySelector('#made').value`)
}

// accept accepts an invitation with a password.
func accept(page *Page, invitation, name, password string) {
	page.t.Helper()
	page.Open(invitation)
	page.Wait(`document.querySelector('input[name=token]').value !== ''`)
	page.WaitText("[data-look]", "invited you to ahphub")
	page.Do(chromedp.SetValue("#name", name))
	page.Do(chromedp.SetValue("#password", password))
	page.Shot("accept")
	page.Click("main form .btn.main")
	page.Wait(`location.pathname === '/' && document.readyState === 'complete'`)
}

// cutOff waits until a page knows that its access has ended.
func cutOff(page *Page, since time.Time, after string) {
	page.t.Helper()
	page.Wait(`document.querySelector('#conn')?.checkVisibility() || /revoked|sign in|changed/i.test(document.body.innerText)`)
	checkPrompt(page.t, "the end of a page after "+after, since)
}

const memberWords = "a phrase of four words"

// A person is invited, signs in under their own name, and works in every session: what they request
// waits for the owner until the owner lets them approve. After removal, they lose access
// immediately, and their name cannot sign in.
func TestMember(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}, Boxed: true,
		Env: []string{"PATH=" + without(t, "bwrap")}})
	b := OpenBrowser(t)
	owner, ben := b.Page(), b.Page()
	ben.Allow(`40[13]|WebSocket`)
	owner.SignIn(prog)
	want := "Sessions aren't sandboxed"
	if version, err := landlock.LandlockGetABIVersion(); err == nil && version >= 3 {
		want = "Sessions are partly sandboxed"
	}
	owner.Says("#inbox .note", want)
	owner.Says("#inbox .note", "install bubblewrap")
	owner.Shot("unsandboxed")
	session := newSession(owner, prog, "echo first")
	owner.Click(".approval button[data-kind=approve]")
	owner.Wait(`!document.querySelector('.approval')`)

	invitation := inviteBy(owner, prog, "driver", "Ben from the team")
	accept(ben, invitation, "Ben", memberWords)
	ben.Says("#rail", "echo first")
	ben.Shot("inbox")
	if Eval[bool](ben, `!!document.querySelector('#inbox .note')`) {
		t.Error("a member is warned of sandboxes, which are the owner's")
	}
	if Eval[bool](ben, `[...document.querySelectorAll('a[href="/new"], a[href="/settings"], .owner-only')].some(e => e.checkVisibility())`) {
		t.Error("a member is offered what is the owner's")
	}
	ben.Open(prog.URL + session)
	ask := func(command string) {
		ben.Wait(`document.querySelector('#compose')?.checkVisibility() === true`)
		ben.Do(chromedp.SendKeys("#compose textarea", command))
		ben.Click("#compose button.main")
		ben.WaitText(".approval .cmd", command)
	}
	ask("echo asked-by-ben")
	if Eval[bool](ben, `[...document.querySelectorAll('.approval button[data-kind=approve]')].some(b => b.checkVisibility())`) {
		t.Error("a member who may not approve is offered to")
	}
	ben.WaitText("#status", "Waiting")
	ben.WaitText(".approval", "Waiting for a teammate who can approve")
	ben.Shot("asked")
	owner.Open(prog.URL + session)
	owner.WaitText("#status", "Needs you")
	owner.WaitText(".approval", "Ben asked for this")
	if strings.Contains(owner.Text(".approval"), "Waiting for a teammate") {
		t.Error("the owner is told to wait for a teammate")
	}
	owner.Shot("asked-by-member")
	owner.Click(".approval button[data-kind=approve]")
	ben.Wait(`!document.querySelector('.approval')`)

	owner.Open(prog.URL + "/people")
	owner.Click(".change > summary")
	owner.Click(".change input[name=approve]")
	owner.Click(".change input[name=guests]")
	owner.Shot("change")
	owner.Click(".change .btn")
	owner.WaitText("main .links", "approve anyone's requests")
	ben.Open(prog.URL + session)
	ask("echo approved-by-ben")
	ben.WaitText("#status", "Needs you")
	ben.Click(".approval button[data-kind=approve]")
	ben.Wait(`!document.querySelector('.approval')`)
	ben.Open(prog.URL + "/account")
	ben.WaitText("main", "You sign in as Ben")
	ben.Shot("account")
	ben.Open(prog.URL + session)
	ben.Live()

	owner.Open(prog.URL + "/people")
	start := time.Now()
	owner.Click(`main .links form[action$="/remove"] .btn`)
	cutOff(ben, start, "the removal")
	ben.Open(invitation)
	ben.WaitText("[role=alert]", "already been used")
	if Eval[bool](ben, `[...document.querySelectorAll('main input, main button')].some(e => e.checkVisibility())`) {
		t.Error("an invitation that counts no more still asks for a name")
	}
}

// A link that requires an account says so, leads to sign-in and back, and people appear under their
// own name.
func TestLinkForSignedInPeople(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script", "--owner-name", "Ana"}})
	b := OpenBrowser(t)
	owner, ben, cleo := b.Page(), b.Page(), b.Page()
	owner.SignIn(prog)
	session := newSession(owner, prog, "say hello to everybody")
	accept(ben, inviteBy(owner, prog, "member", "Ben"), "Ben", memberWords)
	ben.Says("main", "No shared sessions yet")
	ben.Shot("nothing-shared")
	ben.Open(prog.URL + "/account")
	ben.Click(`form[action="/signout"] .btn`)
	ben.Wait(`location.pathname === '/signin' && document.readyState === 'complete'`)

	owner.Open(prog.URL + session + "/share")
	owner.Click(`input[name=signin]`)
	owner.Click(".linkform .btn.main")
	owner.Wait(`document.querySelector('#made')?.value.includes('/j#')`)
	owner.Shot("signin-link")
	link := Eval[string](owner, `document.querySelector('#made').value`)

	ben.Open(link)
	ben.WaitText("[data-look]", "requires an account")
	ben.WaitText("main form .btn.main", "Sign in and join")
	ben.Shot("join-signin")
	ben.Click("main form .btn.main")
	ben.Wait(`location.pathname === '/signin' && document.readyState === 'complete'`)
	ben.Shot("signin-names")
	ben.Do(chromedp.SetValue("#username", "Ben"))
	ben.Do(chromedp.SetValue("#password", memberWords))
	ben.Click(`form[action="/signin/password"] .btn`)
	ben.WaitText("main form .btn.main", "Join as Ben")
	ben.Shot("join-as")
	ben.Click("main form .btn.main")
	ben.WaitAnswer("hello to everybody")
	owner.Open(prog.URL + session + "/share")
	owner.WaitText("main .links", "sign-in required")
	owner.WaitText("main .came", "Ben")

	cleo.Open(link)
	cleo.WaitText("main form .btn.main", "Sign in and join")
	if there := Eval[string](cleo, `location.href + ' ' + document.referrer`); strings.Contains(there,
		link[strings.Index(link, "#")+1:]) {
		t.Errorf("the link's token is in an address: %s", there)
	}
}

// Sharing a chat or a changeset: the Share button of the open page selects it, and guests reach
// only that part. Revoking ends each within two seconds.
func TestSharingAPart(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script", "--owner-name", "Ana"}})
	b := OpenBrowser(t)
	owner := b.Page()
	owner.SignIn(prog)
	session := newSession(owner, prog, "say hello to everybody")
	owner.WaitAnswer("hello to everybody")
	owner.Click("#turns form[action$='/fork'] button")
	owner.Wait(`document.querySelectorAll('#chats a').length === 2 && document.readyState === 'complete'`)
	chat := Eval[string](owner, "location.pathname")
	owner.Do(chromedp.SendKeys("#compose textarea", "write side.txt one line of the fork"))
	owner.Click("#compose button.main")
	owner.Click(".approval button[data-kind=approve]")
	owner.Wait(`!document.querySelector('.approval')`)

	for _, test := range []struct{ name, from, part, tabs, role string }{
		{"chat", chat, "chat:", "Chat Terminals", "driver"},
		{"changes", session + "/changes", "changes:session", "Changes Threads", "commenter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			guest := OpenBrowser(t).Page()
			guest.Allow(`40[13]|WebSocket`)
			owner.Open(prog.URL + test.from)
			owner.Click(`a[aria-label=Share]`)
			owner.Wait(`location.pathname.endsWith('/share') && document.readyState === 'complete'`)
			if got := Eval[string](owner, `document.querySelector('input[name=part]:checked').value`); got != "" {
				t.Errorf("Share chooses %q before anybody did, want all of the session", got)
			}
			owner.Click(`.whatpart input[value^="` + test.part + `"]`)
			owner.Click(`input[name=role][value=` + test.role + `]`)
			owner.Shot("share-" + test.name)
			owner.Click(".linkform .btn.main")
			owner.Wait(`document.querySelector('#made')?.value.includes('/j#')`)
			join(guest, Eval[string](owner, `document.querySelector('#made').value`), "Cleo")
			guest.Wait(fmt.Sprintf(`[...document.querySelectorAll('#head .tabs a')].map(a => a.innerText.trim()).join(' ') === %q`, test.tabs))
			guest.Shot(test.name)
			if test.name == "changes" {
				guest.Says("#files", "one line of the fork")
			} else {
				guest.Says("#turns", "hello to everybody")
			}
			guest.Live()
			owner.Open(prog.URL + session + "/share")
			start := time.Now()
			owner.Click("main .links .btn.bad")
			cutOff(guest, start, "its link was revoked")
		})
	}
}
