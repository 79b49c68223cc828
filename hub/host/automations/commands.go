package automations

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Capabilities returns the host's capabilities for a caller, or nil if the caller may not see
// automations.
func (p *Part) Capabilities(c core.Caller) *ahp.AutomationCapabilities {
	if !canSee(c) {
		return nil
	}
	least := int64(p.core.Limits.AutomationInterval.Minutes())
	return &ahp.AutomationCapabilities{
		Create:          ahp.Meta{},
		RunCancellation: ahp.Meta{},
		RunHistoryLimit: ahp.Ptr(int64(p.core.Limits.AutomationRuns)),
		Schedules:       &ahp.AutomationScheduleCapability{MinIntervalMinutes: &least},
	}
}

// ListTriggerDefinitions returns the events that can trigger automations; this host has none.
//
// Errors: -32002 no such agent, -32009 not allowed.
func (p *Part) ListTriggerDefinitions(_ context.Context, c core.Caller,
	params ahp.ListAutomationTriggerDefinitionsParams) (ahp.ListAutomationTriggerDefinitionsResult, error) {
	none := ahp.ListAutomationTriggerDefinitionsResult{Items: []ahp.AutomationTriggerDefinition{}}
	if err := c.MayCall("listAutomationTriggerDefinitions", core.RootInfo); err != nil {
		return none, err
	}
	return none, p.cfg.CheckProvider(params.Provider)
}

// Run starts a run, whether or not the automation is enabled. A repeated request returns the same
// run. A new run waits until the current one ends.
//
// Errors: -32008 no such automation, -32602 no requestId or a wrong channel, -32011 too many
// pending runs, -32009 not allowed.
func (p *Part) Run(_ context.Context, c core.Caller, params ahp.RunAutomationParams) (ahp.RunAutomationResult, error) {
	res := ahp.RunAutomationResult{}
	if err := checkCommand(c, "runAutomation", params.Channel); err != nil {
		return res, err
	}
	if params.RequestID == "" || len(params.RequestID) > core.MaxURI {
		return res, core.BadParams("requestId: choose one of 1 to %d bytes, like a UUID, "+
			"and send it again when you ask again", core.MaxURI)
	}
	var refused error
	err := p.core.Hub.Do(func(tx *hub.Tx) { res.Resource, refused = p.runManually(tx, params) })
	if err == nil {
		err = refused
	}
	return res, err
}

// checkCommand checks the caller and the channel of a command.
func checkCommand(c core.Caller, method string, channel ahp.URI) error {
	if err := c.MayCall(method, channelInfo); err != nil {
		return err
	}
	if channel != ahp.AutomationsURI {
		return core.BadParams("channel: %s takes %s", method, ahp.AutomationsURI)
	}
	return nil
}

func (p *Part) runManually(tx *hub.Tx, params ahp.RunAutomationParams) (ahp.URI, error) {
	if _, ok := findEntry(tx, params.Automation); !ok {
		return "", noAutomation(params.Automation)
	}
	asked := p.registry.listRequests(params.Automation)
	if i := slices.IndexFunc(asked, func(r request) bool { return r.ID == params.RequestID }); i >= 0 {
		return asked[i].Run, nil
	}
	waiting := 0
	for _, r := range p.registry.listRuns(params.Automation) {
		if !automation.Ended(r.Lifecycle) {
			waiting++
		}
	}
	if waiting > MaxPending {
		return "", ahp.Errorf(ahp.CodeConflict,
			"%d runs of this automation wait already: wait for their end, or cancel some", waiting-1)
	}
	run := p.openRun(tx, params.Automation, &ahp.AutomationManualRunOrigin{})
	p.recordRequest(tx, params.Automation, request{params.RequestID, run})
	p.refreshEntry(tx, params.Automation)
	return run, nil
}

func (p *Part) recordRequest(tx *hub.Tx, uri ahp.URI, r request) {
	list := append(slices.Clone(p.registry.listRequests(uri)), r)
	list = list[max(0, len(list)-maxRequests):]
	p.registry.setRequests(uri, list)
	raw, err := json.Marshal(list)
	if err != nil {
		return // strings always encode
	}
	tx.Record(requestsBucket, uri, raw)
}

// FetchRuns makes an entry show older runs to all its subscribers: automation/set precedes the
// response.
//
// Errors: -32008 no such automation, -32602 a wrong cursor or channel, -32009 not allowed.
func (p *Part) FetchRuns(_ context.Context, c core.Caller, params ahp.FetchAutomationRunsParams) (
	ahp.FetchAutomationRunsResult, error) {
	res := ahp.FetchAutomationRunsResult{}
	if err := checkCommand(c, "fetchAutomationRuns", params.Channel); err != nil {
		return res, err
	}
	var refused error
	err := p.core.Hub.Do(func(tx *hub.Tx) { refused = p.showOlderRuns(tx, params) })
	if err == nil {
		err = refused
	}
	return res, err
}

func (p *Part) showOlderRuns(tx *hub.Tx, params ahp.FetchAutomationRunsParams) error {
	e, ok := findEntry(tx, params.Automation)
	if !ok {
		return noAutomation(params.Automation)
	}
	list, from := p.registry.listRuns(params.Automation), p.registry.countShown(params.Automation)
	if params.Cursor != "" {
		run, ok := parseCursor(params.Cursor)
		i := slices.IndexFunc(list, func(r ahp.AutomationRunSummary) bool { return r.Resource == run })
		switch {
		case !ok || i < 0:
			return core.BadParams("cursor: it is not from this automation, or its run was removed. Use " +
				"runsNextCursor of " +
				"the entry")
		case i+1 < from:
			return nil // the entry already shows this page
		}
		from = i + 1
	}
	p.registry.setShown(params.Automation, from+runsPerPage)
	p.putEntry(tx, e)
	return nil
}
