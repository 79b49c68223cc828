package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// The fake host has no automations: transcripts about them run on the real one.

func (f *fake) Capabilities(core.Caller) *ahp.AutomationCapabilities { return nil }

func (f *fake) ListTriggerDefinitions(context.Context, core.Caller,
	ahp.ListAutomationTriggerDefinitionsParams) (ahp.ListAutomationTriggerDefinitionsResult, error) {
	return ahp.ListAutomationTriggerDefinitionsResult{Items: []ahp.AutomationTriggerDefinition{}}, nil
}

func (f *fake) Run(_ context.Context, _ core.Caller, p ahp.RunAutomationParams) (ahp.RunAutomationResult,
	error) {
	return ahp.RunAutomationResult{}, ahp.Errorf(ahp.CodeNotFound, "there is no automation %s", p.Automation)
}

func (f *fake) FetchRuns(_ context.Context, _ core.Caller,
	p ahp.FetchAutomationRunsParams) (ahp.FetchAutomationRunsResult, error) {
	return ahp.FetchAutomationRunsResult{}, ahp.Errorf(ahp.CodeNotFound, "there is no automation %s", p.Automation)
}
