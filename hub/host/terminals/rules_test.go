package terminals

import (
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestWhoMayClaimATerminal(t *testing.T) { // AHP requirements 162, 165, 167
	client := func(id string) ahp.TerminalClaim {
		return ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: id}}
	}
	agents := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: session, Chat: "ahp-chat:/1"}}
	others := ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: "ahp-session:/two", Chat: "ahp-chat:/1"}}
	p := New(core.New(core.Config{}), Config{})
	r := &core.Request{Caller: core.Caller{Principal: access.Owner("Ana"), ClientID: "me"}}
	r.Info.Session = session
	for name, tc := range map[string]struct {
		held, asked ahp.TerminalClaim
		ok          bool
	}{
		"takes it from its session":   {agents, client("me"), true},
		"takes it for another client": {agents, client("you"), false},
		"hands its own over":          {client("me"), client("you"), true},
		"gives its own back":          {client("me"), agents, true},
		"takes another client's":      {client("you"), client("me"), false},
		"gives another client's away": {client("you"), agents, false},
		"for another session":         {client("me"), others, false},
		"for no client":               {client("me"), client(""), false},
		"lets it go":                  {client("me"), ahp.TerminalClaim{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			reason := p.checkClaimed(r, &ahp.TerminalState{Claim: tc.held}, &ahp.TerminalClaimedAction{Claim: tc.asked})
			if (reason == "") != tc.ok {
				t.Errorf("answered %q", reason)
			}
		})
	}
}
