package pages

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
)

// verdictRoutes are the forms that decide about a session's changes and write into them, and what a review is exported as.
func (p *Pages) verdictRoutes(r chi.Router) {
	r.Post("/s/{session}/verdict", p.adapt(p.verdict))
	r.Post("/s/{session}/suggestions", p.adapt(p.suggestions))
	r.Get("/s/{session}/threads.md", p.adapt(p.threadsMarkdown))
}

// verdict is the form that finishes a review: a verdict, this person's drafts, and perhaps a turn for the agent. The
// verdict goes first: when it is refused nothing of the rest is done.
func (p *Pages) verdict(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.looked(r)
	if err != nil {
		return err
	}
	c := p.caller(r.Context())
	if r.PostForm.Get("do") == "dismiss" {
		if err := p.Host.DismissVerdict(r.Context(), c, v.session, r.PostForm.Get("who")); err != nil {
			return err
		}
		return done(w, r, back(r, l.page()))
	}
	list, err := p.drafts(r.Context(), v.short, v.who)
	if err != nil {
		return err
	}
	given := host.GivenVerdict{Kind: review.Kind(r.PostForm.Get("kind")), Summary: strings.TrimSpace(r.PostForm.Get("summary")), Seen: r.PostForm.Get("seen")}
	if given.Summary == "" && len(list) > 0 && given.Kind == review.RequestChanges {
		given.Summary = "See " + commentsWord(len(list)) + "."
	}
	if given.Kind != review.Comment || given.Summary != "" || len(list) == 0 {
		if err := p.Host.GiveVerdict(r.Context(), c, v.session, given); err != nil {
			return err
		}
	}
	if err := p.publishDrafts(r.Context(), v, l, list); err != nil {
		return err
	}
	if r.PostForm.Get("send") == "yes" && v.who.Has(access.RightPrompt) {
		if err := p.sendOpen(r.Context(), v, l, verdictText(v.who.Name, given), r.PostForm.Get("how") == "steer"); err != nil {
			return err
		}
	}
	return done(w, r, l.page())
}

// back is where a form of the threads page returns to.
func back(r *http.Request, otherwise string) string {
	if r.PostForm.Get("back") == "threads" {
		return "/s/" + chi.URLParam(r, "session") + "/threads"
	}
	return otherwise
}

// verdictText tells the agent what was decided.
func verdictText(name string, v host.GivenVerdict) string {
	if v.Summary == "" {
		return ""
	}
	return part.VerdictWords(name, string(v.Kind)) + ":\n\n" + v.Summary
}

func commentsWord(n int) string {
	if n == 1 {
		return "the comment"
	}
	return "the " + strconv.Itoa(n) + " comments"
}

// verdicts are those of a session as they are drawn, oldest first.
func (p *Pages) verdicts(session ahp.URI, dirs []ahp.URI) []part.Verdict {
	return drawVerdicts(p.Host.Desk(session).Verdicts, dirs)
}

// standing are the verdicts that stand.
func (p *Pages) standing(session ahp.URI) []part.Verdict {
	return drawVerdicts(p.Host.Desk(session).Standing(), nil)
}

func drawVerdicts(list []review.Verdict, dirs []ahp.URI) []part.Verdict {
	out := make([]part.Verdict, len(list))
	for i, v := range list {
		x := part.Verdict{By: v.By.Name, ByID: v.By.ID, Kind: string(v.Kind), Summary: v.Summary, At: v.At, Overtaken: v.Overtaken, End: string(v.End), EndAt: v.EndAt, More: v.More}
		if v.EndBy != nil {
			x.EndBy = v.EndBy.Name
		}
		for _, uri := range v.Changed {
			x.Changed = append(x.Changed, relative(uri, dirs))
		}
		out[i] = x
	}
	return out
}

// mine is a person's own verdict that stands, nil when there is none.
func (p *Pages) mine(session ahp.URI, who access.Principal) *part.Verdict {
	v, ok := p.Host.Desk(session).Of(who.ID)
	if !ok {
		return nil
	}
	return &drawVerdicts([]review.Verdict{v}, nil)[0]
}

// seenDigest names what a page of the session's changes shows; other looks are not what a verdict is about.
func seenDigest(l look, cs *ahp.ChangesetState) string {
	if l.scope != "session" || cs.Status != ahp.ChangesetStatusReady {
		return ""
	}
	return host.ReviewDigest(cs.Files)
}

// greet adds to a session's frame what is its reader's alone: how often they are called, and whom they can call.
func (p *Pages) greet(f *part.Frame, v visit) {
	if !v.who.Scope.IsWhole() {
		return // people of all of the session
	}
	f.Session.Called = len(p.Host.Desk(v.session).MentionsOf(v.who.ID))
	f.Names = p.names(v.session, v.who)
	f.Scripts = append(f.Scripts, "js/mention.js")
}

// names are whom a comment in a session can mention: those who were here, but oneself.
func (p *Pages) names(session ahp.URI, who access.Principal) (out []string) {
	for _, x := range p.Host.Desk(session).People {
		if x.ID != who.ID {
			out = append(out, x.Name)
		}
	}
	return out
}

// watchDesk pings when somebody decides or is called; it is part of a room's Watch.
func (p *Pages) watchDesk(session ahp.URI, ping func()) (stop func()) {
	changed, cancel := p.Host.WatchDesk(session)
	return live.PingOn(changed, cancel, ping)
}

// readMentions says that a person looked at threads.
func (p *Pages) readMentions(ctx context.Context, v visit, threads []string) error {
	return p.Host.MentionsRead(ctx, v.who.ID, v.session, threads)
}
