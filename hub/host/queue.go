package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

// startQueued starts the oldest queued message of an idle chat: it removes the message from the
// queue and starts its turn in one step, so that no action comes between (AHP requirements 109 and
// 110).
//
// A steering message that no agent took goes first when the turn ends; one sent while idle is kept
// for the next turn (AHP requirement 112).
func (ts *turns) startQueued(tx *hub.Tx, ch hub.ChannelInfo, turnEnded bool) {
	s, ok := hub.StateOf[*ahp.ChatState](tx, ch.URI)
	if !ok || s.ActiveTurn != nil || ts.recovering.Load() || ts.h.disposing.held(ch.Session) {
		return
	}
	session, ok := hub.StateOf[*ahp.SessionState](tx, ch.Session)
	if !ok || turnEnded && session.Lifecycle == ahp.SessionLifecycleFailed {
		return // only a new message opens the agent again
	}
	var next ahp.PendingMessage
	kind := ahp.PendingMessageKindQueued
	switch {
	case turnEnded && s.SteeringMessage != nil:
		next, kind = *s.SteeringMessage, ahp.PendingMessageKindSteering
	case len(s.QueuedMessages) > 0:
		next = s.QueuedMessages[0]
	default:
		return
	}
	if ts.h.agents.IsOffline(session.Provider) {
		ts.h.updateEntry(tx, ch.Session, func(e *core.Entry) { e.Waiting = true })
		return // until the machine is online
	}
	if tx.Apply(ch.URI, &ahp.ChatPendingMessageRemovedAction{Kind: kind, ID: next.ID}) == nil {
		return // never start the same message twice
	}
	tx.Apply(ch.URI, &ahp.ChatTurnStartedAction{TurnID: turnIDOf(s, next.ID), StartedAt: core.Timestamp(ts.h.core.Now()),
		Message: next.Message, QueuedMessageID: next.ID})
}

// handleMachinesBack resumes work that waited for machines which are online again.
func (h *Host) handleMachinesBack(ctx context.Context) {
	h.Changes.WatchAgain()
	h.turns.startWaiting(ctx)
}

// startWaiting starts the messages that waited for machines which are online again.
func (ts *turns) startWaiting(ctx context.Context) {
	var waiting []*core.Entry
	if ts.h.core.Do(ctx, func(*hub.Tx) { waiting = ts.h.core.Catalogue.Waiting() }) != nil { // not while one is queued
		return
	}
	for _, e := range waiting {
		if ts.h.agents.IsOffline(e.Summary.Provider) {
			continue
		}
		if err := ts.startWaitingOf(ctx, e); err != nil && ctx.Err() == nil {
			ts.h.core.Log.Warn("messages that waited for a machine are not sent", "session", e.Summary.Resource, "err", err)
		}
	}
}

func (ts *turns) startWaitingOf(ctx context.Context, e *core.Entry) error {
	uri := e.Summary.Resource
	if err := ts.h.core.Ensure(ctx, uri); err != nil {
		return err
	}
	for _, c := range e.Summary.Chats {
		if err := ts.h.core.Ensure(ctx, c.Resource); err != nil {
			return err
		}
	}
	return ts.h.core.Do(ctx, func(tx *hub.Tx) {
		ts.h.updateEntry(tx, uri, func(e *core.Entry) { e.Waiting = false })
		for _, c := range e.Summary.Chats {
			if ch, ok := tx.Info(c.Resource); ok {
				ts.startQueued(tx, ch, true)
				ts.startQueued(tx, ch, false)
			}
		}
	})
}

// turnIDOf returns the id for the turn of a queued message: the message's id unless a turn has it,
// so that a sender who retries finds the turn.
func turnIDOf(s *ahp.ChatState, pending string) string {
	if len(pending) > 64 || slices.ContainsFunc(s.Turns, func(t *ahp.Turn) bool { return t.ID == pending }) {
		return ids.New()
	}
	return pending
}

func isPending(s *ahp.ChatState, id string) bool {
	return s.SteeringMessage != nil && s.SteeringMessage.ID == id || queuedAt(s, id) >= 0
}

func queuedAt(s *ahp.ChatState, id string) int {
	return slices.IndexFunc(s.QueuedMessages, func(m ahp.PendingMessage) bool { return m.ID == id })
}

func (ts *turns) checkPendingSet(r *core.Request, s *ahp.ChatState, a *ahp.ChatPendingMessageSetAction) string {
	switch {
	case a.ID == "":
		return "a queued message needs an id. Choose a new one, like a UUID"
	case a.Kind != ahp.PendingMessageKindQueued && a.Kind != ahp.PendingMessageKindSteering:
		return "kind must be queued or steering"
	case a.Kind == ahp.PendingMessageKindQueued && queuedAt(s, a.ID) < 0 &&
		len(s.QueuedMessages) >= ts.h.core.Limits.Queue:
		return fmt.Sprintf("%d messages are queued already: wait for some to start, or remove one",
			ts.h.core.Limits.Queue)
	}
	if reason := ts.checkTurnAllowed(r, s); reason != "" {
		return reason
	}
	if reason := checkOwnPending(r, s, a.ID, "change"); reason != "" {
		return reason
	}
	if a.Kind == ahp.PendingMessageKindSteering && s.ActiveTurn != nil {
		r.Tx.Effect(r.Info.URI, func(ctx context.Context) { ts.steer(ctx, r.Info, a.ID) })
	}
	return ts.h.checkMessage(r, &a.Message)
}

// checkOwnPending rejects changes to other senders' pending messages, by the stamp on them.
func checkOwnPending(r *core.Request, s *ahp.ChatState, id, verb string) string {
	var m ahp.Message
	switch i := queuedAt(s, id); {
	case i >= 0:
		m = s.QueuedMessages[i].Message
	case s.SteeringMessage != nil && s.SteeringMessage.ID == id:
		m = s.SteeringMessage.Message
	default:
		return ""
	}
	if by, ok := core.ReadStamp(m.Meta); ok && by.By.ID != r.Caller.ID && !r.Caller.IsOwner() {
		return "only " + by.By.Name + " or the owner may " + verb + " this message"
	}
	return ""
}

func checkPendingRemoved(r *core.Request, s *ahp.ChatState, a *ahp.ChatPendingMessageRemovedAction) string {
	steering := s.SteeringMessage != nil && s.SteeringMessage.ID == a.ID && a.Kind == ahp.PendingMessageKindSteering
	queued := queuedAt(s, a.ID) >= 0 && a.Kind == ahp.PendingMessageKindQueued
	if !steering && !queued { // AHP requirement 113
		return "this message is not in the queue. It may have started already"
	}
	return checkOwnPending(r, s, a.ID, "remove")
}

// checkReordered accepts any list: the reducer ignores unknown ids and appends missing ones (AHP
// requirement 111).
func checkReordered(*core.Request, *ahp.ChatState, *ahp.ChatQueuedMessagesReorderedAction) string {
	return ""
}

func (ts *turns) checkDraft(r *core.Request, _ *ahp.ChatState, a *ahp.ChatDraftChangedAction) string {
	if a.Draft == nil {
		return ""
	}
	draft := *a.Draft
	reason := ts.h.checkMessageDraft(r, &draft)
	a.Draft = &draft
	return reason
}
