package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// Automations run what was defined once, by the clock or on request. Definitions are made and changed by actions.
type Automations interface {
	// AutomationCapabilities is what the host offers the caller; nil for nothing.
	AutomationCapabilities(c core.Caller) *ahp.AutomationCapabilities
	ListAutomationTriggerDefinitions(ctx context.Context, c core.Caller, p ahp.ListAutomationTriggerDefinitionsParams) (ahp.ListAutomationTriggerDefinitionsResult, error)
	RunAutomation(ctx context.Context, c core.Caller, p ahp.RunAutomationParams) (ahp.RunAutomationResult, error)
	FetchAutomationRuns(ctx context.Context, c core.Caller, p ahp.FetchAutomationRunsParams) (ahp.FetchAutomationRunsResult, error)
}

// knowsAutomations reports whether the client's version has them: 0.9 and later.
func (s *socket) knowsAutomations() bool { return s.tongue.Knows("automation/set") }

// ofAutomations keeps a method from clients whose version does not have it.
func ofAutomations(run func(*socket, context.Context, jsonrpc.Message) error) func(*socket, context.Context, jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		if !s.knowsAutomations() {
			return ahp.Errorf(ahp.CodeMethodNotFound, "protocol version %s has no method %q", s.tongue.version, m.Method)
		}
		return run(s, ctx, m)
	}
}

// ready has the host make a channel ready to be followed. One of a kind that the client's version does not have is
// nothing to it.
func (s *socket) ready(ctx context.Context, uri ahp.URI) error {
	info, _ := s.cfg.Hub.Info(uri)
	if (info.Kind == ahp.ChannelAutomations || info.Kind == ahp.ChannelAutomationRun) && !s.knowsAutomations() {
		return ahp.Errorf(ahp.CodeNotFound, "there is nothing at %s for protocol version %s", uri, s.tongue.version)
	}
	return s.cfg.Host.Prepare(ctx, s.caller(), uri)
}
