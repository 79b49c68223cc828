package e2e

import (
	"os"
	"testing"
)

// While an agent does not answer, the chat shows the elapsed time, and only the owner can read the
// agent's log.
func TestSilentAgentShowsItsLogToOwner(t *testing.T) {
	t.Parallel()
	p, b, ana, dir := withChatAgent(t, "[limits]", `silent = "1s"`)
	begin(p, ana, dir, "retry")
	ana.WaitText("#silent", "No answer for ")
	ana.WaitText("#silent pre", "The model is overloaded (529), attempt 3. Authorization: Bearer •••")
	if Eval[bool](ana, "document.querySelector('#status .extra')?.checkVisibility() ?? false") {
		t.Error("the head of the page says it, too")
	}
	ana.Pictures("silent", "#silent")
	session := Eval[string](ana, "location.pathname")
	ben := b.Page()
	join(ben, share(ana, p, session, "commenter"), "Ben")
	ben.Open(p.URL + session)
	ben.WaitText("#silent", "No answer for ")
	if Eval[bool](ben, "document.querySelector('#silent a').checkVisibility() || document.body.innerText.includes('overloaded')") {
		t.Error("a guest sees what the agent logged")
	}
	ben.Allow("403|404")
	if status := awaited[int](ben, "fetch(document.querySelector('#silent a').href).then(r => r.status)"); status != 403 {
		t.Errorf("a guest asks for what the agent logged and is answered %d", status)
	}
	ana.Open(p.URL + session)
	ana.Live()
	ana.WaitText("#silent pre", "overloaded")
	if err := os.WriteFile(dir+"/back", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ana.WaitText(".parts", "given: ")
	ana.Wait("!document.querySelector('#silent').firstElementChild")
}
