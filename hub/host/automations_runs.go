package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

// A run is written down first, then its session is made, and then its message sent, each once the one before is durable
// or with it (spec/automation-run-channel.md). The id of its turn is the run's own, so that the end of that turn, and of
// no other in the session, is the end of the run.

func runInfo(uri ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: uri, Kind: ahp.ChannelAutomationRun}
}

func turnOfRun(run ahp.URI) string { return strings.TrimPrefix(run, runScheme) }

// newRun writes down a run that has not begun.
func (h *Host) newRun(tx *hub.Tx, automationURI ahp.URI, origin ahp.AutomationRunOriginValue) ahp.URI {
	s := &ahp.AutomationRunState{Resource: runScheme + ids.New(), Automation: automationURI, Sessions: []ahp.URI{},
		Origin:    ahp.AutomationRunOrigin{Value: origin},
		Lifecycle: ahp.AutomationRunLifecycle{Value: &ahp.AutomationRunPending{CreatedAt: core.Timestamp(h.core.Now())}}}
	h.core.MustOpen(tx, runInfo(s.Resource), s)
	h.noteRun(tx, automation.Summary(s))
	h.startRuns(tx)
	return s.Resource
}

// noteRun keeps a run's place in its automation's list, and forgets the oldest past the limit.
func (h *Host) noteRun(tx *hub.Tx, r ahp.AutomationRunSummary) {
	raw, err := json.Marshal(r)
	if err != nil {
		h.core.Log.Error("a run cannot be written", "run", r.Resource, "err", err)
		return
	}
	tx.Record(bucketRuns, r.Resource, raw)
	list := slices.Clone(h.automations.runsOf(r.Automation))
	i := slices.IndexFunc(list, func(x ahp.AutomationRunSummary) bool { return x.Resource == r.Resource })
	if i < 0 {
		list = slices.Insert(list, 0, r)
	} else {
		list[i] = r
	}
	kept, gone := automation.Prune(list, h.core.Limits.AutomationRuns)
	h.automations.setRuns(r.Automation, kept)
	for _, old := range gone {
		h.dropRun(tx, old.Resource)
	}
}

func (h *Host) dropRun(tx *hub.Tx, run ahp.URI) {
	tx.Close(run)
	tx.Record(bucketRuns, run, nil)
}

// startRuns begins what waits, while there is room: one run of an automation at a time, and some of all.
func (h *Host) startRuns(tx *hub.Tx) {
	for _, e := range entries(tx) {
		all, own := h.automations.busy(e.Resource)
		if all >= h.core.Limits.AutomationsAtOnce {
			return
		}
		if r, ok := oldestPending(h.automations.runsOf(e.Resource)); ok && !own && h.automations.start(r.Resource) {
			tx.Effect(r.Resource, func(ctx context.Context) { h.beginRun(ctx, r) })
		}
	}
}

func oldestPending(list []ahp.AutomationRunSummary) (r ahp.AutomationRunSummary, ok bool) {
	for _, r := range slices.Backward(list) {
		if _, pending := r.Lifecycle.Value.(*ahp.AutomationRunPending); pending {
			return r, true
		}
	}
	return r, false
}

// beginRun makes a run's session and sends its message; nobody need be connected. What is wrong by now ends the run.
func (h *Host) beginRun(ctx context.Context, r ahp.AutomationRunSummary) {
	session := core.NewSessionURI()
	state, m, err := h.sessionOf(r, session)
	unmake := func() {}
	if err == nil {
		unmake, err = h.Changes.isolate(ctx, session, state, func(string) {})
	}
	if ctx.Err() != nil {
		unmake()
		return // the host stops: the run still waits, and begins at the next start
	}
	begun := false
	stopped := h.core.Do(ctx, func(tx *hub.Tx) {
		h.automations.started(r.Resource)
		if waits, ok := hub.StateOf[*ahp.AutomationRunState](tx, r.Resource); !ok || automation.Ended(waits.Lifecycle) {
			h.startRuns(tx)
			return // cancelled, or its automation removed
		}
		if err == nil {
			err = h.admit(tx, session, state)
		}
		if err != nil {
			h.finishRun(tx, r.Resource, h.runFailed(r.Resource, tx, ahp.ErrorInfo{ErrorType: "session", Message: plainly(err)}))
			return
		}
		begun = true
		h.linkRun(tx, r, session)
		tx.Apply(state.DefaultChat, &ahp.ChatTurnStartedAction{TurnID: turnOfRun(r.Resource), StartedAt: core.Timestamp(h.core.Now()), Message: m})
	})
	if !begun || stopped != nil {
		unmake()
	}
}

// sessionOf is the first state of a run's session and the message it starts with, by the definition as it is now.
func (h *Host) sessionOf(r ahp.AutomationRunSummary, session ahp.URI) (*ahp.SessionState, ahp.Message, error) {
	e, ok := h.Automation(r.Automation)
	if !ok {
		return nil, ahp.Message{}, noAutomation(r.Automation)
	}
	t := e.Definition.Session
	if err := h.CheckTemplate(t); err != nil {
		return nil, ahp.Message{}, err
	}
	by, _ := core.ReadStamp(e.Meta)
	state, err := h.newSession(core.Caller{Principal: access.Owner(by.By.Name)},
		ahp.CreateSessionParams{Channel: session, Provider: t.Provider, WorkingDirectories: t.WorkingDirectories, Config: t.Config})
	if err != nil {
		return nil, ahp.Message{}, err
	}
	state.Title = e.Definition.Title
	state.Origin = &ahp.SessionOrigin{Value: &ahp.SessionAutomationOrigin{Automation: r.Automation, Run: r.Resource}}
	m := e.Definition.Message
	if m.Model == nil {
		m.Model = t.Model
	}
	if m.Agent == nil {
		m.Agent = t.Agent
	}
	by.By.Name += " (automation)" // their words, sent by it
	m.Meta = core.Stamp{By: by.By, At: h.core.Now().UTC()}.Write(m.Meta)
	return state, m, nil
}

// linkRun puts a session into its run, which is at work from here on.
func (h *Host) linkRun(tx *hub.Tx, r ahp.AutomationRunSummary, session ahp.URI) {
	tx.Apply(r.Resource, &ahp.AutomationRunSessionSetAction{Session: session})
	tx.Apply(r.Resource, &ahp.AutomationRunPrimarySessionChangedAction{PrimarySession: session})
	tx.Apply(r.Resource, &ahp.AutomationRunLifecycleChangedAction{Lifecycle: ahp.AutomationRunLifecycle{
		Value: &ahp.AutomationRunRunning{CreatedAt: automation.TimesOf(r.Lifecycle).Created, StartedAt: core.Timestamp(h.core.Now())}}})
	h.runChanged(tx, r.Resource)
}

// runChanged carries what changed of a run up to its automation's entry.
func (h *Host) runChanged(tx *hub.Tx, run ahp.URI) {
	if s, ok := hub.StateOf[*ahp.AutomationRunState](tx, run); ok {
		h.noteRun(tx, automation.Summary(s))
		h.touchAutomation(tx, s.Automation)
	}
}

// finishRun ends a run; the next begins.
func (h *Host) finishRun(tx *hub.Tx, run ahp.URI, end ahp.AutomationRunLifecycleValue) {
	if tx.Apply(run, &ahp.AutomationRunLifecycleChangedAction{Lifecycle: ahp.AutomationRunLifecycle{Value: end}}) == nil {
		return
	}
	h.runChanged(tx, run)
	h.startRuns(tx)
}

func (h *Host) timesOf(run ahp.URI, tx *hub.Tx) automation.Times {
	if s, ok := hub.StateOf[*ahp.AutomationRunState](tx, run); ok {
		return automation.TimesOf(s.Lifecycle)
	}
	return automation.Times{}
}

func (h *Host) runFailed(run ahp.URI, tx *hub.Tx, why ahp.ErrorInfo) *ahp.AutomationRunFailed {
	t := h.timesOf(run, tx)
	return &ahp.AutomationRunFailed{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: core.Timestamp(h.core.Now()), Error: why}
}

func (h *Host) runCancelled(run ahp.URI, tx *hub.Tx) *ahp.AutomationRunCancelled {
	t := h.timesOf(run, tx)
	return &ahp.AutomationRunCancelled{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: core.Timestamp(h.core.Now())}
}

// deriveRun ends a run with its turn.
func (h *Host) deriveRun(tx *hub.Tx, e *hub.Envelope) {
	turn, end := "", ahp.Action(nil)
	switch a := e.Action.(type) {
	case *ahp.ChatTurnCompleteAction:
		turn, end = a.TurnID, a
	case *ahp.ChatTurnCancelledAction:
		turn, end = a.TurnID, a
	case *ahp.ChatErrorAction:
		turn, end = a.TurnID, a
	default:
		return
	}
	run := runScheme + turn
	s, ok := hub.StateOf[*ahp.AutomationRunState](tx, run)
	if !ok || !automation.Running(s.Lifecycle) || s.PrimarySession != e.Channel.Session {
		return
	}
	h.finishRun(tx, run, h.endOf(tx, run, e.Channel.URI, end))
}

func (h *Host) endOf(tx *hub.Tx, run, chat ahp.URI, end ahp.Action) ahp.AutomationRunLifecycleValue {
	switch a := end.(type) {
	case *ahp.ChatErrorAction:
		return h.runFailed(run, tx, a.Part.Error)
	case *ahp.ChatTurnCancelledAction:
		return h.runCancelled(run, tx)
	}
	t := h.timesOf(run, tx)
	done := &ahp.AutomationRunCompleted{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: core.Timestamp(h.core.Now())}
	if s, ok := hub.StateOf[*ahp.ChatState](tx, chat); ok && core.LastTurn(s) != nil {
		done.Usage = core.LastTurn(s).Usage
	}
	return done
}

// cancelRun ends a run that waits; one at work ends with its turn.
func (h *Host) cancelRun(tx *hub.Tx, r ahp.AutomationRunSummary) {
	if automation.Running(r.Lifecycle) && h.cancelTurn(tx, r) {
		return // the end of the turn ended the run
	}
	h.finishRun(tx, r.Resource, h.runCancelled(r.Resource, tx))
}

func (h *Host) cancelTurn(tx *hub.Tx, r ahp.AutomationRunSummary) bool {
	s, ok := hub.StateOf[*ahp.SessionState](tx, r.PrimarySession)
	if !ok {
		return false
	}
	for _, c := range s.Chats {
		chat, ok := hub.StateOf[*ahp.ChatState](tx, c.Resource)
		if ok && chat.ActiveTurn != nil && chat.ActiveTurn.ID == turnOfRun(r.Resource) {
			return tx.Apply(c.Resource, &ahp.ChatTurnCancelledAction{TurnID: chat.ActiveTurn.ID, Duration: core.Elapsed(chat.ActiveTurn, h.core.Now())}) != nil
		}
	}
	return false
}

// mendRuns ends the runs that the last stop of the host cut off, and begins those that had not begun.
func (h *Host) mendRuns(ctx context.Context) error {
	return h.core.Do(ctx, func(tx *hub.Tx) {
		for _, e := range entries(tx) {
			for _, r := range h.automations.runsOf(e.Resource) {
				if automation.Running(r.Lifecycle) {
					h.finishRun(tx, r.Resource, h.runFailed(r.Resource, tx, ahp.ErrorInfo{ErrorType: "interrupted",
						Message: "The host stopped while this run went on. Open its session to resume it, or run the automation again."}))
				}
			}
		}
		h.startRuns(tx)
	})
}

// runOf is the run that made a session, if it did and is still known.
func (h *Host) runOf(session ahp.URI) (run ahp.URI, ok bool) {
	e := h.core.Catalogue.Get(session)
	if e == nil || e.Summary.Origin == nil {
		return "", false
	}
	o, ok := e.Summary.Origin.Value.(*ahp.SessionAutomationOrigin)
	if !ok {
		return "", false
	}
	_, known := h.core.Hub.Info(o.Run)
	return o.Run, known
}

// wakeRun loads the run of a session that is about to go.
func (h *Host) wakeRun(ctx context.Context, session ahp.URI) {
	if run, ok := h.runOf(session); ok {
		if err := h.core.Ensure(ctx, run); err != nil && !errors.Is(err, hub.ErrUnknownChannel) {
			h.core.Log.Warn("the run of a session could not be loaded", "run", run, "err", err)
		}
	}
}

// unlinkRun takes a session that goes out of its run.
func (h *Host) unlinkRun(tx *hub.Tx, s ahp.SessionSummary) {
	if s.Origin == nil {
		return
	}
	if o, ok := s.Origin.Value.(*ahp.SessionAutomationOrigin); ok && tx.Apply(o.Run, &ahp.AutomationRunSessionRemovedAction{Session: s.Resource}) != nil {
		h.runChanged(tx, o.Run)
	}
}

// sleepRuns lets ended runs that nobody follows leave memory.
func (h *Host) sleepRuns(since time.Time) {
	for _, run := range h.automations.ended() {
		h.core.Hub.Sleep(run, since)
	}
}

func (a *automations) ended() (list []ahp.URI) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, runs := range a.runs {
		for _, r := range runs {
			if automation.Ended(r.Lifecycle) {
				list = append(list, r.Resource)
			}
		}
	}
	return list
}
