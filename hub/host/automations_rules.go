package host

import (
	"cmp"
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

// What clients ask of automations. These actions change no state themselves: what the host makes of them follows as
// automation/set or automationRun/lifecycleChanged (spec/automation-channel.md).

func (h *Host) checkAutomationCreate(r *core.Request, s *ahp.AutomationState, a *ahp.AutomationCreateRequestedAction) string {
	id, ok := strings.CutPrefix(a.Resource, automationScheme+"/")
	switch {
	case !ok || id == "" || len(a.Resource) > core.MaxURI || strings.ContainsAny(id, " \t\r\n#?"):
		return fmt.Sprintf("resource: %.80q cannot be an automation's URI; use one like ahp-automation:/<uuid>", a.Resource)
	case slices.ContainsFunc(s.Entries, func(e ahp.AutomationEntry) bool { return e.Resource == a.Resource }):
		return "there is an automation " + a.Resource + " already: choose another URI, or update it"
	case len(s.Entries) >= h.core.Limits.Automations:
		return fmt.Sprintf("there are %d automations already: remove some first", len(s.Entries))
	}
	if reason := h.checkDefinition(r, &a.Definition); reason != "" {
		return reason
	}
	e := ahp.AutomationEntry{Resource: a.Resource, CreatedAt: core.Timestamp(r.Now), ModifiedAt: core.Timestamp(r.Now), Meta: r.Stamp().Write(nil)}
	h.putAutomation(r.Tx, automation.Set(e, a.Definition, r.Now))
	return ""
}

func (h *Host) checkAutomationUpdate(r *core.Request, _ *ahp.AutomationState, a *ahp.AutomationUpdateRequestedAction) string {
	e, ok := entryOf(r.Tx, a.Resource)
	if !ok {
		return plainly(noAutomation(a.Resource))
	}
	d := automation.Apply(e.Definition, a.Changes)
	if reason := h.checkDefinition(r, &d); reason != "" {
		return reason
	}
	e.ModifiedAt = core.Timestamp(r.Now)
	h.putAutomation(r.Tx, automation.Set(e, d, r.Now))
	return ""
}

// checkDefinition checks what needs neither an agent nor a disk; those were asked before the lock was taken.
func (h *Host) checkDefinition(r *core.Request, d *ahp.AutomationDefinition) string {
	if err := automation.Check(d, h.definitionLimits()); err != nil {
		return err.Error()
	}
	if size := core.MessageBytes(&d.Message); size > h.core.Limits.MessageBytes {
		return fmt.Sprintf("this message has %d bytes; at most %d are allowed", size, h.core.Limits.MessageBytes)
	}
	d.Message.Meta = core.KeepStamp(nil, d.Message.Meta)
	return ""
}

func (h *Host) definitionLimits() automation.Limits {
	return automation.Limits{Interval: h.core.Limits.AutomationInterval}
}

// checkAutomationRemoved takes away all that belongs to an automation; one that is unknown is no mistake.
func (h *Host) checkAutomationRemoved(r *core.Request, _ *ahp.AutomationState, a *ahp.AutomationRemovedAction) string {
	if _, ok := entryOf(r.Tx, a.Resource); !ok {
		return ""
	}
	list := h.automations.runsOf(a.Resource)
	h.automations.forget(a.Resource) // so that the ends of its turns find no run
	for _, run := range list {
		if automation.Running(run.Lifecycle) {
			h.cancelTurn(r.Tx, run)
		}
		h.dropRun(r.Tx, run.Resource)
	}
	r.Tx.Record(bucketRequests, a.Resource, nil)
	h.startRuns(r.Tx)
	return ""
}

func (h *Host) checkRunCancel(r *core.Request, s *ahp.AutomationRunState, _ *ahp.AutomationRunCancelRequestedAction) string {
	if automation.Ended(s.Lifecycle) {
		return "this run has ended, so there is nothing to cancel"
	}
	h.cancelRun(r.Tx, automation.Summary(s))
	return ""
}

func noAutomation(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeNotFound, "there is no automation %s: it may have been removed", uri)
}

// templated looks at the sessions that an automation is to make before the hub's lock is taken: directories, agent and
// settings must be there now, and are looked at again when a run starts.
func (h *Host) templated(c core.Caller, info hub.ChannelInfo, a ahp.Action, check hub.Check) hub.Check {
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
	if err := h.CheckTemplate(*t); err != nil {
		return func(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) { return nil, plainly(err) }
	}
	return check
}

// plainly is an error's sentence without its code.
func plainly(err error) string {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// CheckTemplate tells whether a session could be made from a template now. The error is an *ahp.Error.
func (h *Host) CheckTemplate(t ahp.AutomationSessionTemplate) error {
	name := cmp.Or(t.Provider, h.cfg.DefaultAgent)
	backend, err := h.backend(name)
	if err != nil {
		return err
	}
	if _, err := h.newDirs("", name, t.WorkingDirectories); err != nil {
		return err
	}
	if _, err := newConfig(h.schemaOf(backend), t.Config); err != nil {
		return err
	}
	models := h.agentInfo(name).Models
	if t.Model != nil && len(models) > 0 && !slices.ContainsFunc(models, func(m ahp.SessionModelInfo) bool { return m.ID == t.Model.ID }) {
		return core.BadParams("model: the agent %s has no model %.80q: leave it out, or choose one the agent lists", name, t.Model.ID)
	}
	return nil
}
