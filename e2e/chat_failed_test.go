package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The page shows the error of an agent that does not start, and a button starts it once the problem
// is fixed.
func TestAgentDoesNotStart(t *testing.T) {
	t.Parallel()
	p, _, ana, dir := withChatAgent(t)
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begin(p, ana, t.TempDir(), "hello") // an agent starts with its first work
	ana.WaitText(".errorpart", "no licence was found")
	ana.Wait("!document.querySelector('#failed').children.length") // the turn's error says the same
	ana.Click(".errorpart form[action$='/resume'] button")
	ana.WaitText(".errorpart", "no licence was found")

	begin(p, ana, t.TempDir(), "")
	session := Eval[string](ana, "location.pathname")
	share(ana, p, session, "commenter") // a session without turns whose agent starts anyway
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
