package host

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// Editors create a session as soon as a person looks at an empty chat. Such a session is
// provisional while it has no turn, draft, queued message, terminal, thread, verdict, link,
// worktree with changes, or title by a person. Clients are notified of it as of any other. But it
// has no agent, pages do not list it, and it is removed after its client has left.

// provisionalFor is how long a provisional session is kept after its client left.
const provisionalFor = 10 * time.Minute

// provisionals tracks the provisional sessions of this process.
type provisionals struct {
	h *Host

	mu sync.Mutex
	of map[ahp.URI]*provisional
}

type provisional struct {
	creator  core.ClientRef // zero after a restart
	released bool           // the creator unsubscribed from the session
	unopened bool           // the agent was never opened
	left     time.Time      // when the last client left; zero while there is one
}

func (p *provisionals) at(session ahp.URI) *provisional {
	if p.of == nil {
		p.of = map[ahp.URI]*provisional{}
	}
	if p.of[session] == nil {
		p.of[session] = &provisional{}
	}
	return p.of[session]
}

func (p *provisionals) change(session ahp.URI, f func(*provisional)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.at(session))
}

func (p *provisionals) forget(session ahp.URI) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, session)
}

// takeUnopened reports whether a session's agent has yet to be opened, and marks it as opened.
func (p *provisionals) takeUnopened(session ahp.URI) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[session]
	if known == nil || !known.unopened {
		return false
	}
	known.unopened = false
	return true
}

// unsubscribed records that a session's creator no longer follows it.
func (p *provisionals) unsubscribed(session ahp.URI, client core.ClientRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.of[session]; known != nil && known.creator == client {
		known.released = true
	}
}

// makeProvisional marks a new session as provisional.
func (ps *provisionals) makeProvisional(tx *hub.Tx, session ahp.URI, creator core.ClientRef) {
	e := ps.h.core.Catalogue.Alive(session)
	if e == nil {
		return
	}
	next := *e
	next.Fresh, next.Provisional = true, true
	ps.h.core.Save(tx, &next)
	ps.change(session, func(p *provisional) { p.creator = creator })
}

func (ps *provisionals) keepFor(tx *hub.Tx, session ahp.URI) {
	if e := ps.h.core.Catalogue.Alive(session); e != nil && e.Fresh {
		next := *e
		next.Fresh, next.Provisional = false, false
		ps.h.core.Save(tx, &next)
		ps.openUsed(tx, session)
	}
}

// openUsed schedules the opening of a session's agent now that the session has content.
func (ps *provisionals) openUsed(tx *hub.Tx, session ahp.URI) {
	tx.Effect(session, func(context.Context) {
		if ps.takeUnopened(session) {
			ps.h.openNow(session)
		}
	})
}

// reconsider updates whether a session has content. Turns and a title count permanently; drafts and
// other content that can be removed count while they exist.
func (ps *provisionals) reconsider(tx *hub.Tx, session ahp.URI) {
	e := ps.h.core.Catalogue.Alive(session)
	if e == nil || !e.Fresh {
		return
	}
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	used, known := s.Title != defaultTitle, true
	if used {
		ps.keepFor(tx, session)
		return
	}
	for _, c := range s.Chats {
		chat, awake := hub.StateOf[*ahp.ChatState](tx, c.Resource)
		switch {
		case !awake:
			known = false
		case len(chat.Turns) > 0 || chat.ActiveTurn != nil || chat.TurnsNextCursor != "":
			ps.keepFor(tx, session)
			return
		default:
			used = used || isWaiting(chat)
		}
	}
	used = used || hasThreads(e) || hasOwnChanges(e, s) || ps.hasTerminal(tx, session)
	if known || used {
		ps.setProvisional(tx, e, !used)
	}
}

func (ps *provisionals) setProvisional(tx *hub.Tx, e *core.Entry, provisional bool) {
	if e.Provisional == provisional {
		return
	}
	next := *e
	next.Provisional = provisional
	ps.h.core.Save(tx, &next)
	if !provisional {
		ps.openUsed(tx, e.Summary.Resource)
	}
}

// isWaiting reports whether a chat has a draft, queued or steering message.
func isWaiting(chat *ahp.ChatState) bool {
	draft := chat.Draft != nil && (chat.Draft.Text != "" || len(chat.Draft.Attachments) > 0)
	return draft || len(chat.QueuedMessages) > 0 || chat.SteeringMessage != nil
}

func hasThreads(e *core.Entry) bool {
	return e.Summary.Annotations != nil && e.Summary.Annotations.AnnotationCount > 0
}

// hasOwnChanges reports whether files in a session's worktree have changed.
func hasOwnChanges(e *core.Entry, s *ahp.SessionState) bool {
	_, own := worktrees.Of(s)
	return own && e.Summary.Changes != nil && e.Summary.Changes.Files != nil && *e.Summary.Changes.Files > 0
}

func (ps *provisionals) hasTerminal(tx *hub.Tx, session ahp.URI) bool {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return false
	}
	for _, t := range root.Terminals {
		if ch, open := tx.Info(t.Resource); open && ch.Session == session {
			return true
		}
	}
	return false
}

// sweepProvisional removes the provisional sessions whose clients left long enough before now.
func (ps *provisionals) sweepProvisional(ctx context.Context, now time.Time) {
	for _, e := range ps.h.core.Catalogue.List(false) {
		if !e.Provisional {
			continue
		}
		here, gone := ps.isAttended(e), false
		ps.change(e.Summary.Resource, func(p *provisional) {
			switch {
			case here:
				p.left = time.Time{}
			case p.left.IsZero():
				p.left = now
			default:
				gone = now.Sub(p.left) >= provisionalFor
			}
		})
		if gone {
			ps.removeProvisional(ctx, e.Summary.Resource)
		}
	}
}

// isAttended reports whether a session has subscribers, or a connected creator that has not
// unsubscribed.
func (ps *provisionals) isAttended(e *core.Entry) bool {
	uri := e.Summary.Resource
	if ps.h.core.Hub.CountFollowers(uri) > 0 || ps.h.core.Hub.CountFollowers(core.AnnotationsURI(uri)) > 0 {
		return true
	}
	for _, c := range e.Summary.Chats {
		if ps.h.core.Hub.CountFollowers(c.Resource) > 0 {
			return true
		}
	}
	var by provisional
	ps.change(uri, func(p *provisional) { by = *p })
	return by.creator.ID != "" && !by.released && ps.h.core.Hub.IsConnected(by.creator.ID)
}

// removeProvisional deletes a session that still has no content. It does not go to the trash.
func (ps *provisionals) removeProvisional(ctx context.Context, session ahp.URI) {
	if !ps.h.disposing.claim(session) {
		return
	}
	defer ps.h.disposing.release(session)
	info, known := ps.h.core.Hub.Info(session)
	if !known {
		return
	}
	channels, err := ps.h.endTurns(ctx, info)
	if err == nil && ps.worktreeHasWork(ctx, session) {
		err = ps.h.Keep(session)
	}
	if err == nil {
		err = ps.h.core.Hub.Do(func(tx *hub.Tx) { ps.discard(tx, session, channels) })
	}
	if err != nil {
		ps.h.core.Log.Warn("a session that nothing is in was not removed", "session", session, "err", err)
	}
}

// worktreeHasWork reports whether a session's worktree has work that exists nowhere else.
func (ps *provisionals) worktreeHasWork(ctx context.Context, session ahp.URI) bool {
	s, ok := hub.StateOf[*ahp.SessionState](ps.h.core.Hub, session)
	if !ok {
		return false
	}
	return ps.h.Worktrees.HasUnsavedWork(ctx, s)
}

func (ps *provisionals) discard(tx *hub.Tx, session ahp.URI, channels []hub.ChannelInfo) {
	ps.reconsider(tx, session)
	e := ps.h.core.Catalogue.Alive(session)
	if e == nil || !e.Provisional {
		return
	}
	ps.h.Changes.CloseAll(tx, session)
	ps.h.Terminals.CloseSession(tx, session)
	ps.h.clients.UnlistAll(tx, session)
	for _, ch := range channels {
		tx.Close(ch.URI)
	}
	ps.h.core.Catalogue.Remove(session)
	tx.Record(core.BucketSessions, session, nil)
	ps.h.Threads.ForgetReview(tx, session)
	ps.h.Customs.ForgetDecisions(tx, session)
	ps.h.notices.notifyRemoved(tx, session)
	tx.Effect(session, func(ctx context.Context) {
		ps.h.turns.drop(session, errDisposed)
		ps.forget(session)
		ps.h.opening.take(session)
		ps.forgetSession(ctx, session)
	})
}

// forgetSession deletes the files of a session that cannot be restored.
func (ps *provisionals) forgetSession(ctx context.Context, session ahp.URI) {
	ps.h.Changes.Forget(ctx, session)
	ps.h.Worktrees.Forget(ctx, session)
	ps.h.secrets.Forget(session)
	ps.h.Sandboxes.Forget(session)
	if err := os.RemoveAll(ps.h.agentData(session)); err != nil {
		ps.h.core.Log.Warn("what an agent kept of a session is left behind", "session", session, "err", err)
	}
}
