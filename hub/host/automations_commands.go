package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// AutomationCapabilities is what the host offers a caller; nil to whoever may not see automations.
func (h *Host) AutomationCapabilities(c core.Caller) *ahp.AutomationCapabilities {
	if access.MayCall(c.Principal, "runAutomation", automationsInfo) != nil {
		return nil
	}
	least := int64(h.core.Limits.AutomationInterval.Minutes())
	return &ahp.AutomationCapabilities{Create: ahp.Meta{}, RunCancellation: ahp.Meta{}, RunHistoryLimit: ahp.Ptr(int64(h.core.Limits.AutomationRuns)),
		Schedules: &ahp.AutomationScheduleCapability{MinIntervalMinutes: &least}}
}

// ListAutomationTriggerDefinitions answers with the events automations can wait for: this host has none.
//
// Errors: -32002 no such agent, -32009 not allowed.
func (h *Host) ListAutomationTriggerDefinitions(_ context.Context, c core.Caller, p ahp.ListAutomationTriggerDefinitionsParams) (ahp.ListAutomationTriggerDefinitionsResult, error) {
	none := ahp.ListAutomationTriggerDefinitionsResult{Items: []ahp.AutomationTriggerDefinition{}}
	if err := core.MayCall(c, "listAutomationTriggerDefinitions", core.RootInfo); err != nil {
		return none, err
	}
	_, err := h.backend(p.Provider)
	return none, err
}

// RunAutomation starts a run because somebody asked, whether or not the automation is enabled. The same request of the
// same automation is answered with the same run. While another run goes on the new one waits for its end.
//
// Errors: -32008 no such automation, -32602 no requestId or a wrong channel, -32011 too many runs wait, -32009 not allowed.
func (h *Host) RunAutomation(_ context.Context, c core.Caller, p ahp.RunAutomationParams) (ahp.RunAutomationResult, error) {
	res := ahp.RunAutomationResult{}
	if err := onAutomations(c, "runAutomation", p.Channel); err != nil {
		return res, err
	}
	if p.RequestID == "" || len(p.RequestID) > core.MaxURI {
		return res, core.BadParams("requestId: choose one of 1 to %d bytes, like a UUID, and send it again when you ask again", core.MaxURI)
	}
	var refused error
	err := h.core.Hub.Do(func(tx *hub.Tx) { res.Resource, refused = h.runManually(tx, p) })
	if err == nil {
		err = refused
	}
	return res, err
}

// onAutomations checks the caller and the channel of a command.
func onAutomations(c core.Caller, method string, channel ahp.URI) error {
	if err := core.MayCall(c, method, automationsInfo); err != nil {
		return err
	}
	if channel != ahp.AutomationsURI {
		return core.BadParams("channel: %s takes %s", method, ahp.AutomationsURI)
	}
	return nil
}

func (h *Host) runManually(tx *hub.Tx, p ahp.RunAutomationParams) (ahp.URI, error) {
	if _, ok := entryOf(tx, p.Automation); !ok {
		return "", noAutomation(p.Automation)
	}
	asked := h.automations.asked(p.Automation)
	if i := slices.IndexFunc(asked, func(r runRequest) bool { return r.ID == p.RequestID }); i >= 0 {
		return asked[i].Run, nil
	}
	waiting := 0
	for _, r := range h.automations.runsOf(p.Automation) {
		if !automation.Ended(r.Lifecycle) {
			waiting++
		}
	}
	if waiting > mostPending {
		return "", ahp.Errorf(ahp.CodeConflict, "%d runs of this automation wait already: wait for their end, or cancel some", waiting-1)
	}
	run := h.newRun(tx, p.Automation, &ahp.AutomationManualRunOrigin{})
	h.remember(tx, p.Automation, runRequest{p.RequestID, run})
	h.touchAutomation(tx, p.Automation)
	return run, nil
}

func (a *automations) asked(uri ahp.URI) []runRequest {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.requests[uri]
}

func (h *Host) remember(tx *hub.Tx, uri ahp.URI, r runRequest) {
	list := append(slices.Clone(h.automations.asked(uri)), r)
	list = list[max(0, len(list)-mostRequests):]
	h.automations.mu.Lock()
	h.automations.requests[uri] = list
	h.automations.mu.Unlock()
	raw, err := json.Marshal(list)
	if err != nil {
		return // strings always encode
	}
	tx.Record(bucketRequests, uri, raw)
}

// FetchAutomationRuns has an entry show older runs, to everybody who follows the catalogue: automation/set comes before
// the answer.
//
// Errors: -32008 no such automation, -32602 a wrong cursor or channel, -32009 not allowed.
func (h *Host) FetchAutomationRuns(_ context.Context, c core.Caller, p ahp.FetchAutomationRunsParams) (ahp.FetchAutomationRunsResult, error) {
	res := ahp.FetchAutomationRunsResult{}
	if err := onAutomations(c, "fetchAutomationRuns", p.Channel); err != nil {
		return res, err
	}
	var refused error
	err := h.core.Hub.Do(func(tx *hub.Tx) { refused = h.showOlder(tx, p) })
	if err == nil {
		err = refused
	}
	return res, err
}

func (h *Host) showOlder(tx *hub.Tx, p ahp.FetchAutomationRunsParams) error {
	e, ok := entryOf(tx, p.Automation)
	if !ok {
		return noAutomation(p.Automation)
	}
	list, from := h.automations.runsOf(p.Automation), h.automations.shows(p.Automation)
	if p.Cursor != "" {
		run, ok := parseRunsCursor(p.Cursor)
		i := slices.IndexFunc(list, func(r ahp.AutomationRunSummary) bool { return r.Resource == run })
		switch {
		case !ok || i < 0:
			return core.BadParams("cursor: not one of this automation, or its run is gone: take runsNextCursor of the entry")
		case i+1 < from:
			return nil // somebody else asked for this page: the entry has it
		}
		from = i + 1
	}
	h.automations.show(p.Automation, from+runsPage)
	h.putAutomation(tx, e)
	return nil
}

// Automations lists every automation, for those who may see them.
func (h *Host) Automations(c core.Caller) []ahp.AutomationEntry {
	if access.MayCall(c.Principal, "runAutomation", automationsInfo) != nil {
		return nil
	}
	if all, ok := hub.StateOf[*ahp.AutomationState](h.core.Hub, ahp.AutomationsURI); ok {
		return all.Entries
	}
	return nil
}

// AutomationRuns lists all runs of an automation that are kept, newest first.
func (h *Host) AutomationRuns(c core.Caller, uri ahp.URI) []ahp.AutomationRunSummary {
	if access.MayCall(c.Principal, "runAutomation", automationsInfo) != nil {
		return nil
	}
	return h.automations.runsOf(uri)
}
