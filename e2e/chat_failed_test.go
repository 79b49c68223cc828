package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// An agent that does not start: the page says what it said, and it starts again at a press once that is mended.
func TestAgentDoesNotStart(t *testing.T) {
	t.Parallel()
	p, _, ana, dir := withChatAgent(t)
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begin(p, ana, t.TempDir(), "hello") // an agent is started once there is something for it to do
	ana.WaitText(".errorpart", "no licence was found")
	ana.Wait("!document.querySelector('#failed').children.length") // the turn's error says the same
	ana.Click(".errorpart form[action$='/resume'] button")
	ana.WaitText(".errorpart", "no licence was found")

	begin(p, ana, t.TempDir(), "")
	session := Eval[string](ana, "location.pathname")
	share(ana, p, session, "commenter") // a session with no turn whose agent starts all the same
	ana.Open(p.URL + session)
	ana.Live()
	ana.WaitText("#failed", "no licence was found")
	ana.Pictures("failed", "#failed")
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	ana.Click("#failed button")
	ana.Wait("!document.querySelector('#failed').children.length")
	ana.Fill("#message", "well now")
	ana.Press("\r")
	ana.WaitText("#turns", "given: code small |")
	ana.WaitText("#turns", "| well now")
}
