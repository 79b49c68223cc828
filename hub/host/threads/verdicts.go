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

// A verdict applies to a session's changes at the time. The protocol has no format for it, so it is
// part of the host's own review state. An approval is withdrawn when the changes change; a request
// for changes stands until its author replaces it.

// bucketJudged holds the version of each file at a verdict, by session and person.
const bucketJudged = "judged"

func judgedKey(session ahp.URI, who string) string { return session + "#" + who }

// GivenVerdict is a verdict on a session's changes. Seen is the digest of the changes that the
// caller saw, or "".
type GivenVerdict struct {
	Kind    review.Kind
	Summary string
	Seen    string
}

// GiveVerdict sets the caller's verdict on a session and replaces an earlier one. Errors: -32602 it
// is invalid, -32009 not allowed, -32011 the changes differ from Seen.
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

// DismissVerdict removes a verdict: the caller's own, or for the owner any. Errors: -32009 not
// allowed, -32602 no such verdict.
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

// mayJudge checks the right to review by name, as a verdict is not an action of the protocol.
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

// WithdrawOvertaken withdraws approvals of outdated changes, and marks requests for changes as
// overtaken. versions returns the version of every changed file.
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

// listChangedSince returns the files that changed since a verdict, or none if that is unknown.
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
