package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
)

// If turns overlapped, the review offers a worktree for the next session.
func TestOverlappingTurnsOfferAWorktree(t *testing.T) {
	note := ahp.Meta{"ahphub": json.RawMessage(`{"status":"M","overlap":true}`)}
	s := &ahp.SessionState{WorkingDirectories: []ahp.URI{"file:///home/ana/project"}}
	for name, c := range map[string]struct {
		meta ahp.Meta
		want string
	}{"alone": {nil, ""}, "overlapped": {note, "/new?config.isolation=worktree&dir=%2Fhome%2Fana%2Fproject"}} {
		b := newBuilder(&Pages{Site: &site.Site{Hub: hub.New(hub.Config{})}, Host: noHost{}}, core.Caller{},
			look{scope: "turn.1"})
		m := b.model(nil, &ahp.ChangesetState{Files: []ahp.ChangesetFile{{ID: "a", Meta: c.meta}}}, s, nil)
		if m.Beside != c.want {
			t.Errorf("%s: it offers %q", name, m.Beside)
		}
		var html strings.Builder
		if err := page.StatePart(m).Render(t.Context(), &html); err != nil || strings.Contains(html.String(),
			"separate worktree") != (c.want != "") {
			t.Errorf("%s: the page reads %s %v", name, html.String(), err)
		}
	}
}

// noHost is a host without sessions.
type noHost struct{ Host }

func (noHost) Summary(ahp.URI) (ahp.SessionSummary, bool) { return ahp.SessionSummary{}, false }
