package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// method is a row of the table. Requests run in order of arrival, so that a subscribe pipelined
// behind createSession works (AHP requirement 39). Those that only read, or take long, may run
// concurrently.
type method struct {
	run    func(s *socket, ctx context.Context, m jsonrpc.Message) error // answers m itself unless it fails
	always bool                                                          // allowed before initialize
	beside bool
	root   bool // params.channel is ahp-root:// params.channel is ahp-root:// and may be omitted
	files  bool // runs concurrently when a client published the files: the host asks that client, which may ask back
}

var methods = map[string]method{
	"initialize":     {run: (*socket).initialize, always: true, root: true},
	"reconnect":      {run: (*socket).reconnect, always: true, root: true},
	"ping":           {run: (*socket).ping, always: true, root: true},
	"subscribe":      {run: (*socket).subscribe},
	"unsubscribe":    {run: (*socket).unsubscribe},
	"dispatchAction": {run: (*socket).dispatchAction},

	"listSessions":         {run: result(Host.ListSessions), root: true},
	"createSession":        {run: null(Host.CreateSession)},
	"disposeSession":       {run: null(Host.DisposeSession)},
	"resolveSessionConfig": {run: result(resolveSessionConfig), root: true},

	"createChat":  {run: null(Host.CreateChat)},
	"disposeChat": {run: null(Host.DisposeChat)},
	"moveChat":    {run: result(Host.MoveChat)},
	"fetchTurns":  {run: (*socket).fetchTurns},

	"createTerminal":  {run: nullOf(terminals, Terminals.Create)},
	"disposeTerminal": {run: nullOf(terminals, Terminals.Dispose)},

	"resourceRead":    {run: resultOf(files, Files.ResourceRead), beside: true, root: true},
	"resourceList":    {run: resultOf(files, Files.ResourceList), beside: true, root: true},
	"resourceResolve": {run: resultOf(files, Files.ResourceResolve), beside: true, root: true},
	"resourceWrite":   {run: resultOf(files, Files.ResourceWrite), root: true, files: true},
	"resourceMkdir":   {run: resultOf(files, Files.ResourceMkdir), root: true, files: true},
	"resourceCopy":    {run: resultOf(files, Files.ResourceCopy), root: true, files: true},
	"resourceMove":    {run: resultOf(files, Files.ResourceMove), root: true, files: true},
	"resourceDelete":  {run: resultOf(files, Files.ResourceDelete), root: true, files: true},
	"resourceRequest": {run: resultOf(files, Files.ResourceRequest), beside: true, root: true}, // may ask a person

	"completions":              {run: result(Host.Completions), beside: true},
	"sessionConfigCompletions": {run: result(Host.SessionConfigCompletions), beside: true, root: true},
	"authenticate":             {run: result(Host.Authenticate), root: true},

	"createResourceWatch": {run: resultOf(files, Files.CreateResourceWatch), root: true},

	"invokeChangesetOperation": {run: result(Host.InvokeChangesetOperation), beside: true},

	"listAutomationTriggerDefinitions": {run: ofAutomations(resultOf(automations, Automations.ListTriggerDefinitions)), root: true},
	"runAutomation":                    {run: ofAutomations(resultOf(automations, Automations.Run))},
	"fetchAutomationRuns":              {run: ofAutomations(resultOf(automations, Automations.FetchRuns))},
}

// result returns a row that answers with the host's result.
func result[P, R any](call func(Host, context.Context, core.Caller, P) (R, error)) func(*socket, context.Context,
	jsonrpc.Message) error {
	return resultOf(func(cfg *Config) Host { return cfg.Host }, call)
}

// resultOf returns a row that answers with the result of a part of the host.
func resultOf[H, P, R any](part func(*Config) H, call func(H, context.Context, core.Caller, P) (R, error)) func(*socket,
	context.Context, jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		var p P
		if err := params(m, &p); err != nil {
			return err
		}
		ctx, done, err := s.cfg.Audit.BeginMethod(ctx, s.principal, m.Method, &p)
		if err != nil {
			return err
		}
		r, err := call(part(&s.cfg), ctx, s.caller(), p)
		if done(err); err != nil {
			return err
		}
		b, err := s.result(m, r)
		if err != nil {
			return err
		}
		s.answer(m, b)
		return nil
	}
}

// null returns a row that answers null.
func null[P any](call func(Host, context.Context, core.Caller, P) error) func(*socket, context.Context,
	jsonrpc.Message) error {
	return nullOf(func(cfg *Config) Host { return cfg.Host }, call)
}

// nullOf returns a row that answers with null once a part of the host has done its work.
func nullOf[H, P any](part func(*Config) H, call func(H, context.Context, core.Caller, P) error) func(*socket,
	context.Context, jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		var p P
		if err := params(m, &p); err != nil {
			return err
		}
		ctx, done, err := s.cfg.Audit.BeginMethod(ctx, s.principal, m.Method, &p)
		if err != nil {
			return err
		}
		err = call(part(&s.cfg), ctx, s.caller(), p)
		if done(err); err != nil {
			return err
		}
		s.answer(m, nil)
		return nil
	}
}

// params decodes the params of a method.
func params(m jsonrpc.Message, into any) error {
	if err := ahp.Unmarshal(m.Params, into); err != nil {
		return ahp.Errorf(ahp.CodeInvalidParams, "%s: %v", m.Method, err)
	}
	return nil
}
