package e2e

import "testing"

// A terminal in a chat is readable: its font is not shrunk, and its box is as high as its rows.
func TestTerminalInChatIsReadable(t *testing.T) {
	t.Parallel()
	p := Start(t, Options{Args: []string{"--owner-name", "Ana"}})
	ana := OpenBrowser(t).Page()
	ana.look(1440, 900, "light")
	ana.SignIn(p)
	begin(p, ana, t.TempDir(), "seq 12; sleep 600")
	ana.Click(".approval button[data-kind=approve]")
	const term = "document.querySelector('.term-live')?.contentDocument?.getElementById('term')?.xterm"
	ana.Wait(term + "?.buffer.active.getLine(11)?.translateToString(true) === '12'")
	ana.Wait(term + ".options.fontSize >= 11")
	ana.Wait("(f => f.contentDocument.querySelector('#term .xterm-screen').offsetHeight * 13 / " +
		"f.contentDocument.getElementById('term').xterm.rows <= f.contentDocument.getElementById('term').clientHeight + " +
		"1)(document.querySelector('.term-live'))")
	// it grew, and the end is still visible
	ana.Wait("(s => s.scrollTop + s.clientHeight > s.scrollHeight - 2)(document.querySelector('#scroll'))")
	ana.Pictures("terminal", ".term-live")
	ana.look(390, 844, "light")
	ana.Wait(term + ".options.fontSize >= 11")
}
