package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// driverLink creates a link with switches by the form and returns its address.
func driverLink(page *Page, prog *Program, session string, switches ...string) string {
	page.t.Helper()
	page.Open(prog.URL + session + "/share")
	page.Click(`input[name=role][value=driver]`)
	Eval[bool](page, `(document.querySelectorAll('.switches :checked').forEach(b => b.checked = false), true)`)
	for _, s := range switches {
		page.Click(`.switches input[name=` + s + `]`)
	}
	page.Shot("driver-link")
	page.Click(".linkform .btn.main")
	page.Wait(`document.querySelector('#made')?.value.includes('/j#')`)
	return Eval[string](page, `document.querySelector('#made').value`)
}

// A guest with a driver's link requests a command, which waits for the owner, who sees the
// requester; then the guest types in a terminal that the owner hands over.
func TestDriving(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	b := OpenBrowser(t)
	owner, guest := b.Page(), b.Page()
	owner.SignIn(prog)
	session := newSession(owner, prog, "echo first")
	owner.WaitText(".approval .cmd", "echo first")
	owner.Click(".approval button[data-kind=approve]")
	owner.Wait(`!document.querySelector('.approval')`)
	join(guest, driverLink(owner, prog, session, "prompt", "approve", "type"), "Ben")

	guest.Wait(`document.querySelector('#compose')?.checkVisibility() === true`)
	guest.Do(chromedp.SendKeys("#compose textarea", "echo from-the-guest"))
	guest.Click("#compose button.main")
	guest.WaitText(".approval .cmd", "from-the-guest")
	if Eval[bool](guest, `[...document.querySelectorAll('.approval button[data-kind=approve]')].some(b => b.checkVisibility())`) {
		t.Error("a guest is offered to approve what they asked for")
	}
	owner.Open(prog.URL + session)
	owner.WaitText(".approval", "Ben, a guest, asked for this")
	owner.Shot("asked-by-guest")
	owner.Click(".approval button[data-kind=approve]")
	guest.Wait(`!document.querySelector('.approval')`)

	owner.Open(prog.URL + session + "/t")
	owner.Click(`.termtools form button`)
	owner.Says(".termpane.is-mine", "You're in control")
	guest.Open(prog.URL + Eval[string](owner, "location.pathname"))
	guest.Wait(`document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm`)
	guest.Live()
	guest.Click(`.holder button[value=ask]`)
	owner.Says(".asks-keyboard", "Ben requests control")
	owner.Click(`.asks-keyboard button[value=grant]`)
	guest.Says(".termpane.is-mine", "You're in control")
	run(guest, 0, "echo by$((1+1))ben")
	owner.Wait(shows(0) + `.includes('by2ben')`)
	guest.Shot("driver-terminal")
	owner.Click(`.holder button[value=take]`)
	guest.Says(".termpane.is-held", "Ana is in control")
}
