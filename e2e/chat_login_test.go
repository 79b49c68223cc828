package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// An agent that requires a login says so once. Only the owner has a button that opens a terminal
// with the configured command typed in; after the owner runs it with Enter, the same turn
// continues.
func TestLoginErrorOpensTerminalWithItsCommand(t *testing.T) {
	t.Parallel()
	p, b, ana, dir := withChatAgent(t)
	locked := filepath.Join(dir, "locked")
	if err := os.WriteFile(locked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begin(p, ana, t.TempDir(), "hello")
	const button = ".errorpart form[action$='/t/login'] button"
	ana.WaitText(".errorpart", "The agent needs a login")
	ana.WaitText(".errorpart", "Authentication required")
	ana.Wait("!document.querySelector('#failed').children.length")
	if n := Eval[int](ana, "document.body.innerText.split('Authentication required').length - 1"); n != 1 {
		t.Errorf("the page shows the error %d times", n)
	}
	ana.Pictures("login", ".errorpart")
	session := Eval[string](ana, "location.pathname")

	const unsigned = "document.querySelector('.choice:has([value=fake])').innerText.includes('Not signed in')"
	ana.Open(p.URL + "/new")
	ana.Wait(unsigned)
	ana.Pictures("login-new", ".choice .status")

	ben := b.Page()
	join(ben, share(ana, p, session, "driver"), "Ben")
	ben.Open(p.URL + session)
	ben.WaitText(".errorpart", "The agent needs a login")
	if Eval[bool](ben, "document.querySelector(\""+button+"\").checkVisibility()") {
		t.Error("a guest is offered to log in")
	}
	ben.Allow("403")
	if status := awaited[int](ben, "fetch(document.querySelector(\".errorpart form[action$='/t/login']\").action, "+
		"{method: 'POST'}).then(r => r.status)"); status != 403 {
		t.Errorf("a guest who asks for the login terminal is answered %d", status)
	}

	ana.Open(p.URL + session)
	ana.Live()
	ana.Click(button)
	ana.Wait("/\\/t\\/./.test(location.pathname)")
	ana.Live()
	const term = "document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm"
	ana.Wait(term + "?.options.disableStdin === false")
	ana.Wait("(" + glyphs + ").replace(/\\s/g, '').includes('/locked')")
	ana.Pictures("login-terminal", ".termframe")
	if _, err := os.Stat(locked); err != nil {
		t.Fatal("the command ran before Enter was pressed: ", err)
	}
	Eval[bool](ana, term+".focus(), true")
	ana.Do(chromedp.KeyEvent("\r"))
	until(t, "the command ran", func() bool {
		_, err := os.Stat(locked)
		return os.IsNotExist(err)
	})
	ana.Open(p.URL + session)
	ana.Live()
	ana.Click(".errorpart form[action$='/resume'] button")
	ana.WaitText("#turns", "| hello")
	ana.Open(p.URL + "/new")
	if Eval[bool](ana, unsigned) {
		t.Error("an agent that works is not signed in")
	}
}
