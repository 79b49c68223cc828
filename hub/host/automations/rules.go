package automations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Clients' actions on automations change no state themselves. Their outcome follows as
// automation/set or automationRun/lifecycleChanged (spec/automation-channel.md).

func (p *Part) checkCreate(r *core.Request, s *ahp.AutomationState, a *ahp.AutomationCreateRequestedAction) string {
	id, ok := strings.CutPrefix(a.Resource, entryScheme+"/")
	switch {
	case !ok || id == "" || len(a.Resource) > core.MaxURI || strings.ContainsAny(id, " \t\r\n#?"):
		return fmt.Sprintf("resource: %.80q cannot be an automation's URI; use one like ahp-automation:/<uuid>",
			a.Resource)
	case slices.ContainsFunc(s.Entries, func(e ahp.AutomationEntry) bool { return e.Resource == a.Resource }):
		return "the automation " + a.Resource + " already exists. Choose another URI, or update it"
	case len(s.Entries) >= p.core.Limits.Automations:
		return fmt.Sprintf("there are %d automations already: remove some first", len(s.Entries))
	}
	if reason := p.checkDefinition(r, &a.Definition); reason != "" {
		return reason
	}
	now := core.Timestamp(r.Now)
	e := ahp.AutomationEntry{Resource: a.Resource, CreatedAt: now, ModifiedAt: now, Meta: r.Stamp().Write(nil)}
	p.putEntry(r.Tx, automation.Set(e, a.Definition, r.Now))
	return ""
}

func (p *Part) checkUpdate(r *core.Request, _ *ahp.AutomationState, a *ahp.AutomationUpdateRequestedAction) string {
	e, ok := findEntry(r.Tx, a.Resource)
	if !ok {
		return errorText(noAutomation(a.Resource))
	}
	d := automation.Apply(e.Definition, a.Changes)
	if reason := p.checkDefinition(r, &d); reason != "" {
		return reason
	}
	e.ModifiedAt = core.Timestamp(r.Now)
	p.putEntry(r.Tx, automation.Set(e, d, r.Now))
	return ""
}

// checkDefinition checks what needs no agent or disk. CheckBeforeStep has checked the rest.
func (p *Part) checkDefinition(r *core.Request, d *ahp.AutomationDefinition) string {
	if err := automation.Check(d, automation.Limits{Interval: p.core.Limits.AutomationInterval}); err != nil {
		return err.Error()
	}
	if size := core.MessageBytes(&d.Message); size > p.core.Limits.MessageBytes {
		return fmt.Sprintf("this message has %d bytes; at most %d are allowed", size, p.core.Limits.MessageBytes)
	}
	d.Message.Meta = core.KeepStamp(nil, d.Message.Meta)
	return ""
}

// checkRemoved removes an automation with its runs. Removing an unknown one is not an error.
func (p *Part) checkRemoved(r *core.Request, _ *ahp.AutomationState, a *ahp.AutomationRemovedAction) string {
	if _, ok := findEntry(r.Tx, a.Resource); !ok {
		return ""
	}
	list := p.registry.listRuns(a.Resource)
	p.registry.forget(a.Resource) // so that the ends of its turns find no run
	for _, run := range list {
		if automation.Running(run.Lifecycle) {
			p.cancelTurn(r.Tx, run)
		}
		p.removeRun(r.Tx, run.Resource)
	}
	r.Tx.Record(requestsBucket, a.Resource, nil)
	p.startWaiting(r.Tx)
	return ""
}

func (p *Part) checkRunCancel(r *core.Request, s *ahp.AutomationRunState,
	_ *ahp.AutomationRunCancelRequestedAction) string {
	if automation.Ended(s.Lifecycle) {
		return "this run has ended, so there is nothing to cancel"
	}
	p.cancelRun(r.Tx, automation.Summary(s))
	return ""
}

func noAutomation(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeNotFound, "there is no automation %s. It may have been removed", uri)
}

// CheckBeforeStep validates an action's session template before the hub's lock is taken, because
// that reads the disk, and returns the check for the step. Each run validates the template again.
func (p *Part) CheckBeforeStep(ctx context.Context, c core.Caller, info hub.ChannelInfo, a ahp.Action,
	check hub.Check) hub.Check {
	var t *ahp.AutomationSessionTemplate
	switch a := a.(type) {
	case *ahp.AutomationCreateRequestedAction:
		t = &a.Definition.Session
	case *ahp.AutomationUpdateRequestedAction:
		t = a.Changes.Session
	}
	if t == nil || access.MayAct(c.Principal, a.ActionType(), info) != nil {
		return check
	}
	if err := p.cfg.CheckTemplate(ctx, *t); err != nil {
		return func(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) { return nil, errorText(err) }
	}
	return check
}

// errorText returns an error's message without its code.
func errorText(err error) string {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
