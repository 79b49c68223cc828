package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
)

// slow opens in steps, or fails.
type slow struct {
	script.Backend
	fail bool
}

func (b slow) Open(ctx context.Context, spec agent.Spec) (agent.Session, error) {
	spec.Tell("Unpacking")
	spec.Tell("Warming up")
	if b.fail {
		return nil, errors.New("no fuel")
	}
	return reader{}, nil
}

// The client that creates a session with a progressToken gets the progress of the agent's start,
// which the first turn triggers; no other client does (AHP requirements 57 to 59).
func TestProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		fail bool
		last string
	}{"ready": {false, "Ready"}, "failed": {true, "The agent didn't start"}} {
		t.Run(name, func(t *testing.T) {
			w := realWorldOf(t, slow{fail: tc.fail}, Limits{})
			a, other, deaf := w.dial("owner"), w.dial("owner"), w.dial("owner")
			a.initialize("a", ahp.RootURI)
			other.initialize("other", ahp.RootURI)
			deaf.initialize("deaf")
			create := func(p *peer, session, more string) {
				p.send(`{"jsonrpc":"2.0","id":1,"method":"createSession","params":{"channel":"` + session + `"` + more +
					`}}`)
			}
			create(deaf, "ahp-session:/deaf", `,"progressToken":"d"`)
			must(t, deaf.find(`{"jsonrpc":"2.0","id":1,"result":null}`))
			create(a, sessionURI, `,"progressToken":"tök 1"`)
			must(t, a.find(`{"jsonrpc":"2.0","id":1,"result":null}`))
			s, _ := hub.StateOf[*ahp.SessionState](w.hub, sessionURI)
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":1,"action":{"type":"chat/turnStarted","turnId":"t",
				"startedAt":"2026-01-02T03:04:05.000Z","message":{"text":"go","origin":{"kind":"user"}}}}}`,
				s.DefaultChat))
			var messages []string
			last := 0.0
			for last < 100 {
				var f struct {
					Method string             `json:"method"`
					Params ahp.ProgressParams `json:"params"`
				}
				must(t, json.Unmarshal([]byte(a.read()), &f))
				if f.Method != "root/progress" {
					continue
				}
				if p := f.Params; p.ProgressToken != "tök 1" || p.Progress < last || p.Channel != ahp.RootURI {
					t.Errorf("%+v", p)
				}
				if total := f.Params.Total; total == nil || *total != 100 { // without one it looks like a download
					t.Fatalf("%q is at %v without the total 100", f.Params.Message, f.Params.Progress)
				}
				last = f.Params.Progress
				messages = append(messages, fmt.Sprintf("%s %v", f.Params.Message, last))
			}
			if got := strings.Join(messages, ", "); got != "Starting Script 0, Unpacking 50, Warming up 75, "+tc.last+
				" 100" {
				t.Error(got)
			}
			create(a, "ahp-session:/3", `,"progressToken":"`+strings.Repeat("x", 300)+`"`)
			must(t, a.find(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`))
			create(a, "ahp-session:/3", "")
			must(t, a.find(`{"jsonrpc":"2.0","method":"root/sessionAdded","params":"*"}`))
			for _, p := range []*peer{a, other, deaf} {
				p.send(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"channel":"ahp-root://"}}`)
				for {
					got := p.read()
					if strings.Contains(got, "root/progress") {
						t.Error("who did not ask is told: ", got)
					}
					if strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9,`) {
						break
					}
				}
			}
		})
	}
}
