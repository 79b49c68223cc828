package review

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
)

// GiveVerdict serves the form that finishes a review: a verdict, this person's drafts, and optionally a turn for the
// agent. The verdict goes first: if it is refused, nothing else happens.
func (p *Pages) GiveVerdict(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	c := p.CallerOf(r.Context())
	if r.PostForm.Get("do") == "dismiss" {
		if err := p.Reviews.DismissVerdict(r.Context(), c, v.Session, r.PostForm.Get("who")); err != nil {
			return err
		}
		return site.FinishForm(w, r, back(r, l.page()))
	}
	if err := p.Prepare(r.Context(), v.Who, l.annotations()); err != nil {
		return err
	}
	list, err := p.drafts(r.Context(), v.Short, v.Who)
	if err != nil {
		return err
	}
	given := threads.GivenVerdict{Kind: review.Kind(r.PostForm.Get("kind")),
		Summary: strings.TrimSpace(r.PostForm.Get("summary")), Seen: r.PostForm.Get("seen")}
	if given.Summary == "" && len(list) > 0 && given.Kind == review.RequestChanges {
		given.Summary = "See " + commentsWord(len(list)) + "."
	}
	sends := r.PostForm.Get("send") == "yes" && v.Who.Has(access.RightPrompt)
	alone := given.Kind == review.Comment && given.Summary == "" // comments without a summary
	if !alone || len(list) == 0 && (!sends || len(p.unsent(r.Context(), l)) == 0) {
		if err := p.Reviews.GiveVerdict(r.Context(), c, v.Session, given); err != nil {
			return err
		}
	}
	if err := p.publishDrafts(r.Context(), v, l, list); err != nil {
		return err
	}
	if sends {
		if err := p.sendOpen(r.Context(), v, l, verdictText(v.Who.Name, given),
			r.PostForm.Get("how") == "steer"); err != nil {
			return err
		}
	}
	return site.FinishForm(w, r, l.page())
}

// back returns the page to return to: the threads page if the form is on it.
func back(r *http.Request, otherwise string) string {
	if r.PostForm.Get("back") == "threads" {
		return "/s/" + chi.URLParam(r, "session") + "/threads"
	}
	return otherwise
}

// verdictText tells the agent the verdict; "" without a summary.
func verdictText(name string, v threads.GivenVerdict) string {
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

// seenDigest identifies what a page of the session's changes shows; "" for other looks, which no verdict is about.
func seenDigest(l look, cs *ahp.ChangesetState) string {
	if l.scope != "session" || cs.Status != ahp.ChangesetStatusReady {
		return ""
	}
	return changes.ReviewDigest(cs.Files)
}

// readMentions marks a person's mentions in threads as read.
func (p *Pages) readMentions(ctx context.Context, v site.Visit, threads []string) error {
	return p.Reviews.MarkMentionsRead(ctx, v.Who.ID, v.Session, threads)
}
