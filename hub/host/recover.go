package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// recover reads the catalogue and ends interrupted work: a running turn becomes an error that
// clients can resume (AHP requirement 13), and the creation of a session is retried. Transcripts of
// other sessions are not loaded.
func (h *Host) recover(ctx context.Context) error {
	if err := h.readCatalogue(ctx); err != nil {
		return err
	}
	h.turns.recovering.Store(true) // queued messages are not started before a person acts
	defer h.turns.recovering.Store(false)
	for _, e := range h.core.Catalogue.List(false) {
		if err := h.recoverSession(ctx, e); err != nil {
			h.core.Log.Error("a session cut off by a crash could not be mended", "session", e.Summary.Resource, "err",
				err)
		}
	}
	if err := h.Terminals.Recover(ctx); err != nil {
		return err
	}
	if err := h.Files.Recover(ctx); err != nil {
		return err
	}
	return h.core.Do(ctx, h.notices.countSessions)
}

func (h *Host) readCatalogue(ctx context.Context) error {
	if h.core.Store == nil {
		return nil
	}
	records, err := h.core.Store.Records(ctx, core.BucketSessions)
	if err != nil {
		return fmt.Errorf("read the sessions: %w", err)
	}
	for _, r := range records {
		e := new(core.Entry)
		if err := json.Unmarshal(r.Value, e); err != nil {
			return fmt.Errorf("read session %s: %w", r.Key, err)
		}
		h.core.Catalogue.Put(r.Key, e)
	}
	return nil
}

// isInterrupted reports whether a session was working when the host stopped, from its entry alone.
func isInterrupted(e *core.Entry) bool {
	if e.Lifecycle == ahp.SessionLifecycleCreating || isWorking(e.Summary.Status) {
		return true
	}
	for _, c := range e.Summary.Chats {
		if c.Status != nil && isWorking(*c.Status) {
			return true
		}
	}
	return false
}

// isWorking reports whether a status says that a turn is running.
func isWorking(s ahp.SessionStatus) bool { return s.Has(ahp.SessionStatusInProgress) }

func (h *Host) recoverSession(ctx context.Context, e *core.Entry) error {
	if !isInterrupted(e) {
		return nil
	}
	uri := e.Summary.Resource
	if err := h.core.Ensure(ctx, uri); err != nil {
		return err
	}
	for _, c := range e.Summary.Chats {
		if err := h.core.Ensure(ctx, c.Resource); err != nil {
			return err
		}
		if err := h.core.Do(ctx, func(tx *hub.Tx) { h.endCutOff(tx, c.Resource) }); err != nil {
			return err
		}
	}
	if e.Lifecycle == ahp.SessionLifecycleCreating {
		h.begin(uri)
	}
	return nil
}

// endCutOff ends an interrupted turn; the reducer cancels its tool calls. The turn lasted until the
// previous process was last seen alive.
func (h *Host) endCutOff(tx *hub.Tx, chat ahp.URI) {
	s, ok := hub.StateOf[*ahp.ChatState](tx, chat)
	if !ok || s.ActiveTurn == nil {
		return
	}
	ended := h.core.Now()
	if h.cfg.LastAlive.Before(ended) && !h.cfg.LastAlive.IsZero() {
		ended = h.cfg.LastAlive
	}
	skipWaiting(tx, chat, s.ActiveTurn)
	tx.Apply(chat, interruptTurn(s.ActiveTurn.ID, core.Elapsed(s.ActiveTurn, ended)))
}

// skipWaiting skips the tool calls that wait for approval in a turn about to be interrupted, with
// the reason. A resumed agent asks again.
func skipWaiting(tx *hub.Tx, chat ahp.URI, t *ahp.ActiveTurn) {
	for _, p := range t.ResponseParts.All() {
		part, ok := p.Value.(*ahp.ToolCallResponsePart)
		if !ok {
			continue
		}
		if call, ok := part.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState); ok {
			tx.Apply(chat, &ahp.ChatToolCallConfirmedAction{TurnID: t.ID, ToolCallID: call.ToolCallID,
				Reason:        ahp.ToolCallCancellationReasonSkipped,
				ReasonMessage: ahp.Ptr(ahp.Plain("ahphub restarted before this was answered."))})
		}
	}
}

// Interrupted is the activity of a chat whose last turn was ended by a restart, until its next
// turn.
const Interrupted = "Interrupted by a restart"

const errorInterrupted = "interrupted"

// interruptTurn returns the action that ends a turn because ahphub stops or has stopped.
func interruptTurn(turn string, ms int64) *ahp.ChatErrorAction {
	return turnError(turn, ms, errorInterrupted, "ahphub restarted during this turn. Resume to continue from here.",
		true)
}

// NoAnswerFor begins the activity of a chat whose agent has sent nothing for a while.
const NoAnswerFor = agent.NoAnswerFor

// clearActivity removes the activity NoAnswerFor from a chat whose turn has ended.
func clearActivity(tx *hub.Tx, chat ahp.URI, s *ahp.ChatState) {
	if strings.HasPrefix(s.Activity, agent.NoAnswerFor) {
		tx.Apply(chat, &ahp.ChatActivityChangedAction{})
	}
}

// markInterrupted sets the activity Interrupted if a restart ended the chat's last turn, and
// removes it otherwise.
func markInterrupted(tx *hub.Tx, chat ahp.URI, s *ahp.ChatState, a ahp.Action) {
	failed, ok := a.(*ahp.ChatErrorAction)
	is := ok && failed.Part.Error.ErrorType == errorInterrupted && s.ActiveTurn == nil
	if is && s.Activity != Interrupted {
		tx.Apply(chat, &ahp.ChatActivityChangedAction{Activity: Interrupted})
	} else if !is && s.Activity == Interrupted {
		tx.Apply(chat, &ahp.ChatActivityChangedAction{})
	}
}
