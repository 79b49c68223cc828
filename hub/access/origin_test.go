package access

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Only the owner sees which automation made a session.
func TestOriginIsHiddenFromOthers(t *testing.T) {
	origin := &ahp.SessionOrigin{Value: &ahp.SessionAutomationOrigin{Automation: "ahp-automation:/secret",
		Run: "ahp-automation-run:/1"}}
	state, summary := &ahp.SessionState{Title: "T", Origin: origin},
		ahp.SessionSummary{Resource: mine, Title: "T", Origin: origin}
	_, everybody := columns()
	for _, p := range everybody {
		if !p.IsKnown() {
			continue
		}
		seen, _ := p.Audience().State(aboutSession(mine), state).(*ahp.SessionState)
		if owner := p.Role == RoleOwner; seen != nil && (seen.Origin != nil) != owner ||
			(p.Summary(summary).Origin != nil) != owner {
			t.Errorf("%s is told what made the session: %+v, %+v", p.ID, seen, p.Summary(summary))
		}
	}
	if state.Origin == nil {
		t.Error("the state itself was changed")
	}
}
