package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/review"
)

// A verdict is about a session's changes as they were when it was given. The protocol has no shape for it: it is the
// host's own state, in the session's review. An approval is withdrawn when what was approved changes; asking for
// changes stands until its author says otherwise.

// bucketJudged keeps which version of each file a standing verdict is about, by session and person.
const bucketJudged = "judged"

func judgedKey(session ahp.URI, who string) string { return session + "#" + who }

// GivenVerdict is a verdict on a session's changes. Seen is the digest of what they looked at, "" when they do not
// say.
type GivenVerdict struct {
	Kind    review.Kind
	Summary string
	Seen    string
}

// GiveVerdict sets the caller's verdict on a session; it takes the place of an earlier one. Errors: -32602 it makes no
// sense, -32009 the caller may not, -32011 the changes are not what the caller saw.
func (p *Part) GiveVerdict(ctx context.Context, c core.Caller, session ahp.URI, v GivenVerdict) error {
	if err := p.mayJudge(c, session); err != nil {
		return err
	}
	v.Summary = strings.TrimSpace(v.Summary)
	switch {
	case v.Kind != review.Approve && v.Kind != review.RequestChanges && v.Kind != review.Comment:
		return core.BadParams("choose approve, request changes or comment")
	case len(v.Summary) > review.MaxSummary:
		return core.BadParams("this summary is too long. Use at most %d bytes", review.MaxSummary)
	case v.Summary == "" && v.Kind != review.Approve:
		return core.BadParams("write a summary. Only an approval can go without one")
	}
	files, err := p.cfg.Versions(ctx, session)
	if err != nil {
		return ahp.Errorf(ahp.CodeInternalError, "can't compute the changes: %v", err)
	}
	digest := review.Digest(files)
	if v.Seen != "" && v.Seen != digest && v.Kind == review.Approve {
		return ahp.Errorf(ahp.CodeConflict, "the changes have been updated since you looked. Look again, then approve")
	}
	raw, err := json.Marshal(files)
	if err != nil {
		return err
	}
	by := review.Person{ID: c.ID, Name: c.Name}
	return p.core.Do(ctx, func(tx *hub.Tx) {
		tx.Record(bucketJudged, judgedKey(session, by.ID), raw)
		p.cfg.MarkUsed(tx, session)
		p.addEvents(tx, session, review.Given{Verdict: review.Verdict{By: by, Kind: v.Kind, Summary: v.Summary,
			At: p.core.Now().UTC(), Digest: digest}})
	})
}

// DismissVerdict takes a standing verdict back: the caller's own, or for the owner any. Errors:
// -32009, -32602 there is none.
func (p *Part) DismissVerdict(ctx context.Context, c core.Caller, session ahp.URI, who string) error {
	if err := p.mayJudge(c, session); err != nil {
		return err
	}
	if who == "" {
		who = c.ID
	}
	if who != c.ID && !c.IsOwner() {
		return core.Denied(&access.Denied{Need: access.RightReview,
			Reason: "only the owner can dismiss someone else's review"})
	}
	if _, stands := p.Review(session).Of(who); !stands {
		return core.BadParams("there is no review to dismiss. It may have been cleared in the meantime")
	}
	by := review.Person{ID: c.ID, Name: c.Name}
	return p.core.Do(ctx, func(tx *hub.Tx) {
		tx.Record(bucketJudged, judgedKey(session, who), nil)
		p.addEvents(tx, session, review.Ended{Who: who, Why: review.Dismissed, By: &by, At: p.core.Now().UTC()})
	})
}

// mayJudge asks for the right to review; a verdict is no action of the protocol, so the right is asked for by name.
func (p *Part) mayJudge(c core.Caller, session ahp.URI) error {
	if p.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return core.NoSession(session)
	}
	if !c.Has(access.RightReview) {
		return core.Denied(&access.Denied{Need: access.RightReview,
			Reason: fmt.Sprintf("as a %s you can't submit a review. Ask the owner for a link that allows it", c.Role)})
	}
	return nil
}

// WithdrawOvertaken withdraws the approvals of other changes than those that a session has now. versions returns which
// version every changed file has.
func (p *Part) WithdrawOvertaken(ctx context.Context, session ahp.URI, versions func() map[string]string) {
	standing := p.Review(session).Standing()
	if len(standing) == 0 {
		return
	}
	now := versions()
	digest := review.Digest(now)
	var events []review.Event
	for _, v := range standing {
		switch {
		case v.Digest == digest || v.Overtaken || v.Kind == review.Comment:
		case v.Kind == review.RequestChanges:
			events = append(events, review.Overtaken{Who: v.By.ID, Digest: v.Digest})
		default:
			events = append(events, review.Ended{Who: v.By.ID, Digest: v.Digest, Why: review.Withdrawn,
				At: p.core.Now().UTC(), Changed: p.listChangedSince(ctx, session, v, now)})
		}
	}
	if len(events) == 0 {
		return
	}
	if err := p.core.Do(ctx, func(tx *hub.Tx) {
		p.addEvents(tx, session,
			events...)
	}); err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("cannot clear an approval of earlier changes", "session", session, "err", err)
	}
}

// listChangedSince returns the files that changed since a verdict; none when that is not known any more.
func (p *Part) listChangedSince(ctx context.Context, session ahp.URI, v review.Verdict,
	now map[string]string) []string {
	if p.core.Store == nil {
		return nil
	}
	var was map[string]string
	raw, ok, err := p.core.Store.Get(ctx, bucketJudged, judgedKey(session, v.By.ID))
	if err != nil || !ok || json.Unmarshal(raw, &was) != nil || was == nil {
		return nil
	}
	return review.Differences(was, now)
}
