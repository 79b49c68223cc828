package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// Automations run predefined prompts, by schedule or on request. Actions create and change the definitions.
type Automations interface {
	// Capabilities returns what the host offers the caller; nil for nothing.
	Capabilities(c core.Caller) *ahp.AutomationCapabilities
	ListTriggerDefinitions(ctx context.Context, c core.Caller,
		p ahp.ListAutomationTriggerDefinitionsParams) (ahp.ListAutomationTriggerDefinitionsResult, error)
	Run(ctx context.Context, c core.Caller, p ahp.RunAutomationParams) (ahp.RunAutomationResult, error)
	FetchRuns(ctx context.Context, c core.Caller,
		p ahp.FetchAutomationRunsParams) (ahp.FetchAutomationRunsResult, error)
}

func automations(cfg *Config) Automations { return cfg.Automations }

// knowsAutomations reports whether the client's version has automations: 0.9 and later.
func (s *socket) knowsAutomations() bool { return s.dialect.Knows("automation/set") }

// ifSupported refuses a method to clients whose version does not have it.
func ifSupported(run func(*socket, context.Context, jsonrpc.Message) error) func(*socket, context.Context,
	jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		if !s.dialect.KnowsCommand(m.Method) {
			return ahp.Errorf(ahp.CodeMethodNotFound, "protocol version %s has no method %q", s.dialect.version,
				m.Method)
		}
		return run(s, ctx, m)
	}
}

// ready prepares a channel for subscription. A channel of a kind that the client's version lacks
// does not exist for it.
func (s *socket) ready(ctx context.Context, uri ahp.URI) error {
	info, _ := s.cfg.Hub.Info(uri)
	if (info.Kind == ahp.ChannelAutomations || info.Kind == ahp.ChannelAutomationRun) && !s.knowsAutomations() {
		return ahp.Errorf(ahp.CodeNotFound, "protocol version %[2]s has no channel %[1]s", uri, s.dialect.version)
	}
	return s.cfg.Host.Prepare(ctx, s.caller(), uri)
}
