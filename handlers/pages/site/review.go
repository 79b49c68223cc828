package site

import (
	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
)

// Verdicts returns a session's verdicts for its pages, oldest first.
func (st *Site) Verdicts(session ahp.URI, dirs []ahp.URI) []part.Verdict {
	return DrawVerdicts(st.Reviews.Review(session).Verdicts, dirs)
}

// StandingVerdicts returns the verdicts in effect.
func (st *Site) StandingVerdicts(session ahp.URI) []part.Verdict {
	return DrawVerdicts(st.Reviews.Review(session).Standing(), nil)
}

// DrawVerdicts converts verdicts for pages; paths are relative to dirs.
func DrawVerdicts(list []review.Verdict, dirs []ahp.URI) []part.Verdict {
	out := make([]part.Verdict, len(list))
	for i, v := range list {
		x := part.Verdict{By: v.By.Name, ByID: v.By.ID, Kind: string(v.Kind), Summary: v.Summary, At: v.At,
			Overtaken: v.Overtaken, End: string(v.End), EndAt: v.EndAt, More: v.More}
		if v.EndBy != nil {
			x.EndBy = v.EndBy.Name
		}
		for _, uri := range v.Changed {
			x.Changed = append(x.Changed, RelativePath(uri, dirs))
		}
		out[i] = x
	}
	return out
}

// OwnVerdict returns a person's own verdict in effect; nil when there is none.
func (st *Site) OwnVerdict(session ahp.URI, who access.Principal) *part.Verdict {
	v, ok := st.Reviews.Review(session).Of(who.ID)
	if !ok {
		return nil
	}
	return &DrawVerdicts([]review.Verdict{v}, nil)[0]
}

// greet adds the reader's own data to a session's frame: their mentions, and the names they can mention.
func (st *Site) greet(f *part.Frame, v Visit) {
	if !v.Who.Scope.IsWhole() {
		return // mentions are for viewers of the whole session
	}
	f.Session.Called = len(st.Reviews.Review(v.Session).MentionsOf(v.Who.ID))
	f.Names = st.names(v.Session, v.Who)
	f.Scripts = append(f.Scripts, "js/mention.js")
}

// names returns the names that a comment can mention: earlier visitors of the session, except the author.
func (st *Site) names(session ahp.URI, who access.Principal) (out []string) {
	for _, x := range st.Reviews.Review(session).People {
		if x.ID != who.ID {
			out = append(out, x.Name)
		}
	}
	return out
}

// WatchReview pings when a verdict or a mention changes; for a room's Watch.
func (st *Site) WatchReview(session ahp.URI, ping func()) (stop func()) {
	changed, cancel := st.Reviews.WatchReview(session)
	return live.PingOn(changed, cancel, ping)
}
