package e2e

import (
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A terminal in a real browser shows input and output, and is the same after a reload.
func TestTerminalInBrowser(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}, Env: []string{"SHELL=/bin/sh"}})
	w := watch(t, prog, "driver")
	session := "ahp-session:/" + uuid.NewString()
	if err := w.Call(t.Context(), "createSession", &ahp.CreateSessionParams{Channel: session, Provider: "script"},
		nil); err != nil {
		t.Fatal(err)
	}
	page := OpenBrowser(t).Page()
	page.SignIn(prog)
	base := "/s/" + core.ShortID(session)
	page.Open(prog.URL + base + "/t")
	Eval[any](page, `document.querySelector('.termbar form button').click()`)
	const text = `(() => { const t = document.querySelector('.termframe').contentDocument.getElementById('term').xterm, b = t.buffer.active; let s = ''; for (let i = 0; i < b.length; i++) s += b.getLine(i).translateToString(true) + '\n'; return s.trim(); })()`
	page.Wait(`document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm`)
	page.Wait(`(` + text + `).length > 0`)
	Eval[any](page, `document.querySelector('.termframe').contentDocument.getElementById('term').xterm.input("printf 'A\\033[31mred\\033[m\\n'; seq 1 40; echo B$((1+1))B\r")`)
	page.Wait(`(` + text + `).includes('B2B')`)
	before := Eval[string](page, text)
	page.Open(prog.URL + Eval[string](page, "location.pathname"))
	page.Wait(`document.querySelector('.termframe')?.contentDocument?.getElementById('term')?.xterm`)
	page.Wait(`(` + text + `).includes('B2B')`)
	if after := Eval[string](page, text); after != before {
		t.Errorf("loaded anew the terminal shows\n%s\nbefore\n%s", after, before)
	}
}
