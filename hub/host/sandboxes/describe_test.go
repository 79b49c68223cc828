package sandboxes

import (
	"encoding/json"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// The description of a call on a machine depends on that machine, not on this server's sandboxes.
func TestDescribeSandboxOfMachine(t *testing.T) {
	for mode, want := range map[sandbox.Mode]note{
		sandbox.None:     {Mode: sandbox.None},
		sandbox.Landlock: {Mode: sandbox.Landlock, Inside: true},
	} {
		p := New(nil, Config{Rules: &sandbox.Rules{Mode: sandbox.Namespace, Boxed: sandbox.Namespace},
			Elsewhere: func(provider string) (sandbox.Mode, bool) { return mode, provider == "shell+1" }})
		a := &ahp.ChatToolCallReadyAction{Meta: ahp.Meta{core.MetaKey: json.RawMessage(`{"directory":"/src"}`)}}
		if p.Describe("ahp-session:/1", &ahp.SessionState{Provider: "shell+1"}, "command", a) {
			t.Errorf("%s: a call on a machine is said to run outside if asked for", mode)
		}
		var says struct {
			Directory string
			Sandbox   struct {
				Mode   sandbox.Mode
				Inside bool
			}
		}
		if err := json.Unmarshal(a.Meta[core.MetaKey], &says); err != nil {
			t.Fatal(err)
		}
		if says.Sandbox.Mode != want.Mode || says.Sandbox.Inside != want.Inside || says.Directory != "/src" {
			t.Errorf("%s: it says %+v", mode, says)
		}
	}
}
