package site

import (
	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
)

// Verdicts returns those of a session as they are drawn, oldest first.
func (st *Site) Verdicts(session ahp.URI, dirs []ahp.URI) []part.Verdict {
	return DrawVerdicts(st.Reviews.Review(session).Verdicts, dirs)
}

// StandingVerdicts returns the verdicts that stand.
func (st *Site) StandingVerdicts(session ahp.URI) []part.Verdict {
	return DrawVerdicts(st.Reviews.Review(session).Standing(), nil)
}

// DrawVerdicts converts verdicts to what pages show; paths are relative to dirs.
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

// OwnVerdict returns a person's own verdict that stands, nil when there is none.
func (st *Site) OwnVerdict(session ahp.URI, who access.Principal) *part.Verdict {
	v, ok := st.Reviews.Review(session).Of(who.ID)
	if !ok {
		return nil
	}
	return &DrawVerdicts([]review.Verdict{v}, nil)[0]
}

// greet adds to a session's frame what is its reader's alone: how often they are called, and whom they can call.
func (st *Site) greet(f *part.Frame, v Visit) {
	if !v.Who.Scope.IsWhole() {
		return // people of all of the session
	}
	f.Session.Called = len(st.Reviews.Review(v.Session).MentionsOf(v.Who.ID))
	f.Names = st.names(v.Session, v.Who)
	f.Scripts = append(f.Scripts, "js/mention.js")
}

// names returns whom a comment in a session can mention: those who were here, but oneself.
func (st *Site) names(session ahp.URI, who access.Principal) (out []string) {
	for _, x := range st.Reviews.Review(session).People {
		if x.ID != who.ID {
			out = append(out, x.Name)
		}
	}
	return out
}

// WatchReview pings when a verdict or a mention changes; it is part of a room's Watch.
func (st *Site) WatchReview(session ahp.URI, ping func()) (stop func()) {
	changed, cancel := st.Reviews.WatchReview(session)
	return live.PingOn(changed, cancel, ping)
}
