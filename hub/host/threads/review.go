package threads

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/review"
)

// bucketReviews holds each session's review.Review, for which the protocol has no format.
const bucketReviews = "desk" // the name in existing databases

// reviews holds the reviews of all sessions. Its lock is taken below the hub's.
type reviews struct {
	mu       sync.Mutex
	all      map[ahp.URI]review.Review
	watchers map[chan struct{}]ahp.URI // "" for every session
}

// loadReviews reads the reviews once, before the first caller.
func (p *Part) loadReviews(ctx context.Context) error {
	if p.core.Store == nil {
		return nil
	}
	list, err := p.core.Store.Records(ctx, bucketReviews)
	for _, r := range list {
		var kept review.Review
		if err := json.Unmarshal(r.Value, &kept); err != nil {
			p.core.Log.Error("the verdicts of a session cannot be read", "session", r.Key, "err", err)
			continue
		}
		p.reviews.all[r.Key] = kept
	}
	return err
}

// Review returns the review of a session. The value is immutable.
func (p *Part) Review(session ahp.URI) review.Review {
	p.reviews.mu.Lock()
	defer p.reviews.mu.Unlock()
	return p.reviews.all[session]
}

// WatchReview ticks after every change of a session's review, or of any review if session is "";
// pending ticks merge. Call cancel when done.
func (p *Part) WatchReview(session ahp.URI) (changed <-chan struct{}, cancel func()) {
	d, ch := &p.reviews, make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watchers[ch] = session
	return ch, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, ch)
	}
}

func (d *reviews) tell(session ahp.URI) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ch, of := range d.watchers {
		if of == "" || of == session {
			select {
			case ch <- struct{}{}:
			default: // a tick is already pending
			}
		}
	}
}

// addEvents adds events to a session's review. Pages are notified once the events are durable.
func (p *Part) addEvents(tx *hub.Tx, session ahp.URI, events ...review.Event) {
	if len(events) == 0 || p.core.Catalogue.Alive(session) == nil {
		return
	}
	p.reviews.mu.Lock()
	now := p.reviews.all[session]
	for _, e := range events {
		now = now.After(e)
	}
	p.reviews.all[session] = now
	p.reviews.mu.Unlock()
	for _, e := range events {
		if p.cfg.Judged != nil {
			p.cfg.Judged(tx, session, e)
		}
	}
	raw, err := json.Marshal(now)
	if err != nil {
		p.core.Log.Error("verdicts and mentions are not kept", "session", session, "err", err)
		return
	}
	tx.Record(bucketReviews, session, raw)
	tx.Effect(core.AnnotationsURI(session), func(context.Context) { p.reviews.tell(session) })
}

// ForgetReview deletes the review of a deleted session.
func (p *Part) ForgetReview(tx *hub.Tx, session ahp.URI) {
	p.reviews.mu.Lock()
	had := p.reviews.all[session]
	delete(p.reviews.all, session)
	p.reviews.mu.Unlock()
	tx.Record(bucketReviews, session, nil)
	for _, v := range had.Verdicts {
		tx.Record(bucketJudged, judgedKey(session, v.By.ID), nil)
	}
}

// RememberVisitor records the caller as a visitor of a channel's session, who can be mentioned.
func (p *Part) RememberVisitor(c core.Caller, info hub.ChannelInfo) {
	session, me := info.Session, review.Person{ID: c.ID, Name: c.Name}
	if session == "" || me.ID == "" || me.Name == "" || c.Role == access.RoleAgent {
		return
	}
	for _, known := range p.Review(session).People {
		if known == me {
			return
		}
	}
	err := p.core.Hub.Do(func(tx *hub.Tx) { p.addEvents(tx, session, review.Joined{Person: me}) })
	if err != nil {
		p.core.Log.Debug("who came is not noted", "session", session, "err", err) // read-only: recorded next time
	}
}

// recordMentions records the people mentioned in a thread's new comments, except the author.
func (p *Part) recordMentions(r *core.Request, thread string, entries ...ahp.AnnotationEntry) {
	session := r.Info.Session
	people := p.Review(session).People
	var events []review.Event
	for _, e := range entries {
		for _, called := range review.Mentions(e.Text.Text, people) {
			if called.ID != r.Caller.ID {
				events = append(events, review.Called{Mention: review.Mention{Who: called.ID,
					By: review.Person{ID: r.Caller.ID,
						Name: r.Caller.Name}, Thread: thread, At: r.Now.UTC()}})
			}
		}
	}
	p.addEvents(r.Tx, session, events...)
}

// dropMentions deletes the mentions in a deleted thread.
func (p *Part) dropMentions(r *core.Request, thread string) {
	for _, m := range p.Review(r.Info.Session).Mentions {
		if m.Thread == thread {
			p.addEvents(r.Tx, r.Info.Session, review.Read{Threads: []string{thread}})
			return
		}
	}
}

// MarkMentionsRead records that a person has read threads that mention them.
func (p *Part) MarkMentionsRead(ctx context.Context, who string, session ahp.URI, threads []string) error {
	now := p.Review(session)
	if read := now.After(review.Read{Who: who, Threads: threads}); len(read.Mentions) == len(now.Mentions) {
		return nil
	}
	return p.core.Do(ctx, func(tx *hub.Tx) { p.addEvents(tx, session, review.Read{Who: who, Threads: threads}) })
}
