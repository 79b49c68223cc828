package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Rules of turns.

func (ts *turns) checkTurnStarted(r *core.Request, s *ahp.ChatState, a *ahp.ChatTurnStartedAction) string {
	switch {
	case a.TurnID == "":
		return "a turn needs a turnId. Choose a new one, like a UUID"
	case s.ActiveTurn != nil:
		return "this chat is busy with a turn. Wait for its end, cancel it, or queue the message"
	case core.HasTurn(s, a.TurnID):
		return "this chat already has a turn " + a.TurnID + ". Choose a new turnId"
	case a.QueuedMessageID != "" && !isPending(s, a.QueuedMessageID):
		return "no message with this queuedMessageId is waiting"
	}
	if session, ok := hub.StateOf[*ahp.SessionState](r.Tx, r.Info.Session); ok {
		if why := ts.h.agents.Offline(session.Provider); why != nil {
			return why.Error() + ", or queue the message: it is sent then"
		}
	}
	if reason := ts.checkTurnAllowed(r, s); reason != "" {
		return reason
	}
	a.Meta = core.KeepStamp(nil, a.Meta)
	a.StartedAt = core.Timestamp(acceptTime(a.StartedAt, r.Now))
	return ts.h.checkMessage(r, &a.Message)
}

// acceptTime returns the client's time if its clock is about right, otherwise now. Durations and
// the order of sessions depend on it.
func acceptTime(at string, now time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, at); err == nil && t.Sub(now).Abs() < time.Minute {
		return t
	}
	return now
}

// checkPromptable returns why no turn can start in a chat now, or "".
func (ts *turns) checkPromptable(r *core.Request, s *ahp.ChatState) string {
	session, _ := hub.StateOf[*ahp.SessionState](r.Tx, r.Info.Session)
	switch {
	case session == nil || ts.h.disposing.held(r.Info.Session):
		return "the session of this chat is not available"
	case s.Interactivity != "" && s.Interactivity != ahp.ChatInteractivityFull:
		return "this chat is read-only"
	}
	return ""
}

// checkTurnAllowed returns why a chat accepts no further turn now, or "".
func (ts *turns) checkTurnAllowed(r *core.Request, s *ahp.ChatState) string {
	if reason := ts.checkPromptable(r, s); reason != "" {
		return reason
	}
	if reason := ts.checkRoom(s); reason != "" {
		return reason
	}
	return ts.h.cfg.Budget(r.Caller.ID, r.Info.Session)
}

// checkTurnCancelled sets the duration by the host's clock, as some clients send none.
func checkTurnCancelled(r *core.Request, s *ahp.ChatState, a *ahp.ChatTurnCancelledAction) string {
	switch {
	case s.ActiveTurn == nil: // AHP requirement 103
		return "no turn is running here, so there is nothing to cancel"
	case s.ActiveTurn.ID != a.TurnID:
		return "a different turn is running now"
	}
	a.Duration = core.Elapsed(s.ActiveTurn, r.Now)
	a.Meta = r.Stamp().Write(a.Meta)
	return ""
}

func (ts *turns) checkTurnResume(r *core.Request, s *ahp.ChatState, a *ahp.ChatTurnResumeAction) string {
	if s.ActiveTurn != nil {
		return "this chat is busy with a turn. Wait for its end or cancel it"
	}
	last := core.LastTurn(s)
	if last == nil || last.ID != a.TurnID || !isResumable(last) {
		return "only the last turn can be resumed, and only when its error allows it. Send a new message instead"
	}
	return ts.checkTurnAllowed(r, s)
}

func isResumable(t *ahp.Turn) bool {
	if t.State != ahp.TurnStateError || len(t.ResponseParts) == 0 {
		return false
	}
	p, ok := t.ResponseParts[len(t.ResponseParts)-1].Value.(*ahp.ErrorResponsePart)
	return ok && p.Resumable != nil && *p.Resumable
}

func (ts *turns) checkTruncated(r *core.Request, s *ahp.ChatState, _ *ahp.ChatTruncatedAction) string {
	return ts.checkPromptable(r, s)
}

// Effects of turns.

func (ts *turns) runTurn(_ context.Context, e *hub.Envelope, a *ahp.ChatTurnStartedAction) {
	ts.startRun(e.Channel, a.TurnID)
}

func (ts *turns) resumeTurn(_ context.Context, e *hub.Envelope, a *ahp.ChatTurnResumeAction) {
	ts.startRun(e.Channel, a.TurnID)
}

// startRun runs a turn with the session's runtime. If that is closing because it was idle, a new
// one replaces it.
func (ts *turns) startRun(ch hub.ChannelInfo, turn string) {
	for ts.h.core.Ctx.Err() == nil && !ts.runtimeOf(ch.Session).start(ch.URI, turn) {
	}
}

func (ts *turns) handleTurnEnded(_ context.Context, e *hub.Envelope, a *ahp.ChatTurnCompleteAction) {
	ts.endRun(e.Channel, a.TurnID)
}

func (ts *turns) handleTurnCancelled(_ context.Context, e *hub.Envelope, a *ahp.ChatTurnCancelledAction) {
	ts.endRun(e.Channel, a.TurnID)
}

func (ts *turns) handleTurnFailed(_ context.Context, e *hub.Envelope, a *ahp.ChatErrorAction) {
	ts.endRun(e.Channel, a.TurnID)
}

func (ts *turns) handleChatTruncated(_ context.Context, e *hub.Envelope, _ *ahp.ChatTruncatedAction) {
	chat, ok := hub.StateOf[*ahp.ChatState](ts.h.core.Hub, e.Channel.URI)
	if ok && chat.ActiveTurn == nil { // a running turn started after the truncation
		ts.endRun(e.Channel, "")
	}
}

func (ts *turns) endRun(ch hub.ChannelInfo, turn string) {
	defer ts.h.dropStale(ch.Session)
	if l := ts.findRuntime(ch.Session); l != nil {
		l.end(ch.URI, turn, errCancelled)
	}
}

// play has the agent answer a turn, and ends the turn with the result.
func (l *sessionRuntime) play(r *run) {
	turn, ok := l.turn(r)
	if !ok {
		return // ended before it started
	}
	ref := changes.TurnRef{Session: l.uri, Chat: r.chat, Turn: r.id, Dirs: l.dirs()}
	l.h.Changes.StartTurn(r.ctx, ref)
	err := l.traceTurn(r, func(ctx context.Context) error { return l.prompt(ctx, r, turn) })
	ended := l.h.core.Now()
	l.h.Changes.EndTurn(l.ctx, ref)
	(&out{l, r}).flushHidden()
	l.finish(r, err, ended)
}

func (l *sessionRuntime) prompt(ctx context.Context, r *run, t agent.Turn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.h.core.Log.Error("an agent panicked", "session", l.uri, "panic", p, "stack", string(debug.Stack()))
			err = &agent.Failure{Message: "the agent crashed. See the server's log", Resumable: true}
		}
	}()
	sender, _ := core.ReadStamp(t.Message.Meta) // of a queued message, whose budget may be used up by now
	if reason := l.h.cfg.Budget(sender.By.ID, l.uri); reason != "" {
		return &agent.Failure{Message: reason + ", then resume.", Resumable: true}
	}
	for again := false; ; again = true {
		s, err := l.open(r.ctx)
		l.settleReopened(err)
		if err != nil {
			if errorType(err) == errorLogin {
				return err // the page says that the agent needs a login, and how to log in
			}
			return &agent.Failure{Message: "The agent could not be started: " + err.Error(), Resumable: true}
		}
		if err = s.Prompt(ctx, t); again || !errors.Is(err, agent.ErrGone) {
			return err
		}
		l.closeGone(s)
	}
}

// closeGone closes an agent that has exited, so that it is opened again.
func (l *sessionRuntime) closeGone(s agent.Session) {
	l.mu.Lock()
	known := l.agent == s
	if known {
		l.agent, l.opened = nil, nil
	}
	l.mu.Unlock()
	if known {
		_ = s.Close() // it has exited
	}
}

// turn returns what the agent is to answer. A resumed turn is the same as at first.
func (l *sessionRuntime) turn(r *run) (agent.Turn, bool) {
	s, ok := hub.StateOf[*ahp.ChatState](l.h.core.Hub, r.chat)
	if !ok || s.ActiveTurn == nil || s.ActiveTurn.ID != r.id {
		return agent.Turn{}, false
	}
	r.text.Store(int64(turnText(s.ActiveTurn.ResponseParts.Slice())))
	m, say := s.ActiveTurn.Message, &out{l, r}
	given := l.fetch(r.ctx, l.resolve(r.ctx, m), say.notice)
	return agent.Turn{ID: r.id, Chat: r.chat, Message: l.withSideChatSource(s, given), Threads: l.threads(r.ctx, m),
		History: s.Turns, Guest: FromGuest(m), Out: say}, true
}

func (l *sessionRuntime) dirs() []string {
	if s, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri); ok {
		return core.LocalPaths(s.WorkingDirectories)
	}
	return nil
}

// finish ends the turn unless a client has (AHP requirement 107).
func (l *sessionRuntime) finish(r *run, err error, ended time.Time) {
	failed := l.h.core.Do(l.ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.ChatState](tx, r.chat)
		if !ok || r.over.Swap(true) || s.ActiveTurn == nil || s.ActiveTurn.ID != r.id {
			return
		}
		if errors.Is(context.Cause(r.ctx), core.ErrStopping) && err != nil {
			skipWaiting(tx, r.chat, s.ActiveTurn)
		}
		tx.Apply(r.chat, l.endAction(r, err, core.Elapsed(s.ActiveTurn, ended)))
	})
	if failed != nil {
		l.h.core.Log.Warn("the end of a turn could not be kept; the next start ends it", "chat", r.chat, "turn", r.id,
			"err", failed)
	}
}

// endAction returns the action that ends a run, with secrets redacted from its error.
func (l *sessionRuntime) endAction(r *run, err error, ms int64) ahp.Action {
	var failure *agent.Failure
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, errTurnFull):
		return turnError(r.id, ms, "too_long",
			"The agent said more than one turn may hold and was stopped. What it said by then is kept. "+
				"Ask it to write long output to a file.", false)
	case err == nil:
		return &ahp.ChatTurnCompleteAction{TurnID: r.id, Duration: ms}
	case errors.Is(cause, core.ErrStopping):
		return interruptTurn(r.id, ms)
	case cause != nil:
		return &ahp.ChatTurnCancelledAction{TurnID: r.id, Duration: ms}
	case errors.As(err, &failure):
		return turnError(r.id, ms, errorType(err), l.hide(failure.Message), failure.Resumable)
	}
	return turnError(r.id, ms, errorType(err), l.hide(fmt.Sprint(err)), false)
}

// Types of an agent's errors.
const (
	errorAgent = "agent"
	errorLogin = "login" // the agent requires a login
)

// errorType returns the type of an agent's error.
func errorType(err error) string {
	if f, ok := errors.AsType[*agent.Failure](err); ok && f.Login {
		return errorLogin
	}
	return errorAgent
}

func turnError(turn string, ms int64, kind, message string, again bool) *ahp.ChatErrorAction {
	part := ahp.ErrorResponsePart{Error: ahp.ErrorInfo{ErrorType: kind, Message: message}}
	if again {
		part.Resumable = ahp.Ptr(true)
	}
	return &ahp.ChatErrorAction{TurnID: turn, Duration: ms, Part: part}
}
