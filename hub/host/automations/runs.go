package automations

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

// A run is recorded first. Then its session is created and its message sent, each in the same step
// as its predecessor or after that is durable (spec/automation-run-channel.md). A run's turn has
// the run's own id, so that only this turn's end ends the run.

// timestamp returns the current time in the protocol's format.
func (p *Part) timestamp() string { return core.Timestamp(p.core.Now()) }

func runInfo(uri ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: uri, Kind: ahp.ChannelAutomationRun}
}

// turnOfRun returns the id of a run's turn.
func turnOfRun(run ahp.URI) string { return strings.TrimPrefix(run, runScheme) }

// openRun opens the channel of a pending run.
func (p *Part) openRun(tx *hub.Tx, automationURI ahp.URI, origin ahp.AutomationRunOriginValue) ahp.URI {
	s := &ahp.AutomationRunState{
		Resource: runScheme + ids.New(), Automation: automationURI, Sessions: []ahp.URI{},
		Origin:    ahp.AutomationRunOrigin{Value: origin},
		Lifecycle: ahp.AutomationRunLifecycle{Value: &ahp.AutomationRunPending{CreatedAt: p.timestamp()}},
	}
	p.core.MustOpen(tx, runInfo(s.Resource), s)
	p.recordRun(tx, automation.Summary(s))
	p.startWaiting(tx)
	return s.Resource
}

// recordRun records a run in its automation's list, and removes the oldest runs above the limit.
func (p *Part) recordRun(tx *hub.Tx, r ahp.AutomationRunSummary) {
	raw, err := json.Marshal(r)
	if err != nil {
		p.core.Log.Error("a run cannot be written", "run", r.Resource, "err", err)
		return
	}
	tx.Record(runsBucket, r.Resource, raw)
	list := slices.Clone(p.registry.listRuns(r.Automation))
	i := slices.IndexFunc(list, func(x ahp.AutomationRunSummary) bool { return x.Resource == r.Resource })
	if i < 0 {
		list = slices.Insert(list, 0, r)
	} else {
		list[i] = r
	}
	kept, gone := automation.Prune(list, p.core.Limits.AutomationRuns)
	p.registry.setRuns(r.Automation, kept)
	for _, old := range gone {
		p.removeRun(tx, old.Resource)
	}
}

// removeRun closes the channel of a run and removes its record.
func (p *Part) removeRun(tx *hub.Tx, run ahp.URI) {
	tx.Close(run)
	tx.Record(runsBucket, run, nil)
}

// startWaiting starts pending runs within the limits: one per automation, Limits.AutomationsAtOnce
// in total.
func (p *Part) startWaiting(tx *hub.Tx) {
	for _, e := range listEntries(tx) {
		all, own := p.registry.countBusy(e.Resource)
		if all >= p.core.Limits.AutomationsAtOnce {
			return
		}
		if r, ok := oldestPending(p.registry.listRuns(e.Resource)); ok && !own && p.registry.markStarting(r.Resource) {
			tx.Effect(r.Resource, func(ctx context.Context) { p.beginRun(ctx, r) })
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

// beginRun creates a run's session and sends its message, without a client. An invalid definition
// fails the run.
func (p *Part) beginRun(ctx context.Context, r ahp.AutomationRunSummary) {
	session := core.NewSessionURI()
	state, m, err := p.buildSession(ctx, r, session)
	unmake := func() {}
	if err == nil {
		unmake, err = p.cfg.Isolate(ctx, session, state)
	}
	if ctx.Err() != nil {
		unmake()
		return // the host stops; the run starts at the next start
	}
	begun := false
	stopped := p.core.Do(ctx, func(tx *hub.Tx) {
		p.registry.unmarkStarting(r.Resource)
		if waits, ok := hub.StateOf[*ahp.AutomationRunState](tx, r.Resource); !ok || automation.Ended(waits.Lifecycle) {
			p.startWaiting(tx)
			return // cancelled, or its automation removed
		}
		if err == nil {
			err = p.cfg.OpenSession(tx, session, state)
		}
		if err != nil {
			why := ahp.ErrorInfo{ErrorType: "session", Message: errorText(err)}
			p.finishRun(tx, r.Resource, p.newFailure(tx, r.Resource, why))
			return
		}
		begun = true
		p.linkRun(tx, r, session)
		tx.Apply(state.DefaultChat, &ahp.ChatTurnStartedAction{
			TurnID: turnOfRun(r.Resource), StartedAt: p.timestamp(), Message: m})
	})
	if !begun || stopped != nil {
		unmake()
	}
}

// buildSession returns the first state of a run's session and its first message, by the current
// definition.
func (p *Part) buildSession(ctx context.Context, r ahp.AutomationRunSummary,
	session ahp.URI) (*ahp.SessionState, ahp.Message, error) {
	e, ok := p.Get(r.Automation)
	if !ok {
		return nil, ahp.Message{}, noAutomation(r.Automation)
	}
	t := e.Definition.Session
	if err := p.cfg.CheckTemplate(ctx, t); err != nil {
		return nil, ahp.Message{}, err
	}
	by, _ := core.ReadStamp(e.Meta)
	state, err := p.cfg.NewSession(ctx, core.Caller{Principal: access.Owner(by.By.Name)}, ahp.CreateSessionParams{
		Channel: session, Provider: t.Provider, WorkingDirectories: t.WorkingDirectories, Config: t.Config})
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
	by.By.Name += " (automation)" // the owner's words, sent by the automation
	m.Meta = core.Stamp{By: by.By, At: p.core.Now().UTC()}.Write(m.Meta)
	return state, m, nil
}

// linkRun adds a session to its run, which is running from then on.
func (p *Part) linkRun(tx *hub.Tx, r ahp.AutomationRunSummary, session ahp.URI) {
	tx.Apply(r.Resource, &ahp.AutomationRunSessionSetAction{Session: session})
	tx.Apply(r.Resource, &ahp.AutomationRunPrimarySessionChangedAction{PrimarySession: session})
	running := &ahp.AutomationRunRunning{CreatedAt: automation.TimesOf(r.Lifecycle).Created, StartedAt: p.timestamp()}
	tx.Apply(r.Resource, &ahp.AutomationRunLifecycleChangedAction{Lifecycle: ahp.AutomationRunLifecycle{Value: running}})
	p.refreshRun(tx, r.Resource)
}

// refreshRun aggregates a changed run into its automation's entry.
func (p *Part) refreshRun(tx *hub.Tx, run ahp.URI) {
	if s, ok := hub.StateOf[*ahp.AutomationRunState](tx, run); ok {
		p.recordRun(tx, automation.Summary(s))
		p.refreshEntry(tx, s.Automation)
	}
}

// finishRun ends a run and starts the next.
func (p *Part) finishRun(tx *hub.Tx, run ahp.URI, end ahp.AutomationRunLifecycleValue) {
	if tx.Apply(run, &ahp.AutomationRunLifecycleChangedAction{
		Lifecycle: ahp.AutomationRunLifecycle{Value: end}}) == nil {
		return
	}
	p.refreshRun(tx, run)
	p.startWaiting(tx)
}

// readTimes returns when a run was created and started.
func (p *Part) readTimes(tx *hub.Tx, run ahp.URI) automation.Times {
	if s, ok := hub.StateOf[*ahp.AutomationRunState](tx, run); ok {
		return automation.TimesOf(s.Lifecycle)
	}
	return automation.Times{}
}

func (p *Part) newFailure(tx *hub.Tx, run ahp.URI, why ahp.ErrorInfo) *ahp.AutomationRunFailed {
	t := p.readTimes(tx, run)
	return &ahp.AutomationRunFailed{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: p.timestamp(), Error: why}
}

func (p *Part) newCancellation(tx *hub.Tx, run ahp.URI) *ahp.AutomationRunCancelled {
	t := p.readTimes(tx, run)
	return &ahp.AutomationRunCancelled{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: p.timestamp()}
}

// Derive ends a run with its turn. It takes the envelopes of chats.
func (p *Part) Derive(tx *hub.Tx, e *hub.Envelope) {
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
	p.finishRun(tx, run, p.describeEnd(tx, run, e.Channel.URI, end))
}

// describeEnd returns the final state of a run whose turn was ended by an action.
func (p *Part) describeEnd(tx *hub.Tx, run, chat ahp.URI, end ahp.Action) ahp.AutomationRunLifecycleValue {
	switch a := end.(type) {
	case *ahp.ChatErrorAction:
		return p.newFailure(tx, run, a.Part.Error)
	case *ahp.ChatTurnCancelledAction:
		return p.newCancellation(tx, run)
	}
	t := p.readTimes(tx, run)
	done := &ahp.AutomationRunCompleted{CreatedAt: t.Created, StartedAt: t.Started, CompletedAt: p.timestamp()}
	if s, ok := hub.StateOf[*ahp.ChatState](tx, chat); ok && core.LastTurn(s) != nil {
		done.Usage = core.LastTurn(s).Usage
	}
	return done
}

// cancelRun cancels a run: a pending one at once, a running one with its turn.
func (p *Part) cancelRun(tx *hub.Tx, r ahp.AutomationRunSummary) {
	if automation.Running(r.Lifecycle) && p.cancelTurn(tx, r) {
		return // the end of the turn ended the run
	}
	p.finishRun(tx, r.Resource, p.newCancellation(tx, r.Resource))
}

// cancelTurn cancels a run's turn, and reports whether there was one.
func (p *Part) cancelTurn(tx *hub.Tx, r ahp.AutomationRunSummary) bool {
	s, ok := hub.StateOf[*ahp.SessionState](tx, r.PrimarySession)
	if !ok {
		return false
	}
	for _, c := range s.Chats {
		chat, ok := hub.StateOf[*ahp.ChatState](tx, c.Resource)
		if ok && chat.ActiveTurn != nil && chat.ActiveTurn.ID == turnOfRun(r.Resource) {
			took := core.Elapsed(chat.ActiveTurn, p.core.Now())
			return tx.Apply(c.Resource, &ahp.ChatTurnCancelledAction{TurnID: chat.ActiveTurn.ID, Duration: took}) != nil
		}
	}
	return false
}

// WakeRun loads the run of a session about to be disposed.
func (p *Part) WakeRun(ctx context.Context, s ahp.SessionSummary) {
	run, ok := runOf(s)
	if !ok {
		return
	}
	if err := p.core.Ensure(ctx, run); err != nil && !errors.Is(err, hub.ErrUnknownChannel) {
		p.core.Log.Warn("the run of a session could not be loaded", "run", run, "err", err)
	}
}

// UnlinkSession removes a disposed session from its run.
func (p *Part) UnlinkSession(tx *hub.Tx, s ahp.SessionSummary) {
	run, ok := runOf(s)
	if ok && tx.Apply(run, &ahp.AutomationRunSessionRemovedAction{Session: s.Resource}) != nil {
		p.refreshRun(tx, run)
	}
}

// runOf returns the run that created a session.
func runOf(s ahp.SessionSummary) (run ahp.URI, ok bool) {
	if s.Origin == nil {
		return "", false
	}
	o, ok := s.Origin.Value.(*ahp.SessionAutomationOrigin)
	if !ok {
		return "", false
	}
	return o.Run, true
}

// SleepRuns unloads ended runs without subscribers.
func (p *Part) SleepRuns(since time.Time) {
	for _, run := range p.registry.listEnded() {
		p.core.Hub.Sleep(run, since)
	}
}
