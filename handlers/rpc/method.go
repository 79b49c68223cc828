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
	run        func(s *socket, ctx context.Context, m jsonrpc.Message) error // answers m itself unless it fails
	always     bool                                                          // allowed before initialize
	concurrent bool
	channel    channelRule
	files      bool // runs concurrently for a client's files, since that client may send requests itself
}

// channelRule is what params.channel of a method may be (AHP requirement 4).
type channelRule int

const (
	someChannel channelRule = iota // a channel, which the method checks
	rootChannel                    // ahp-root://
	rootOrNone                     // ahp-root://, or missing as in VS Code's reconnect
	anyOrNone                      // any value: ping is always answered (AHP requirement 10)
)

var methods = map[string]method{
	"initialize":     {run: (*socket).initialize, always: true, channel: rootOrNone},
	"reconnect":      {run: (*socket).reconnect, always: true, channel: rootOrNone},
	"ping":           {run: (*socket).ping, always: true, channel: anyOrNone},
	"subscribe":      {run: (*socket).subscribe},
	"unsubscribe":    {run: (*socket).unsubscribe},
	"dispatchAction": {run: (*socket).dispatchAction},

	"listSessions":         {run: result(Host.ListSessions), channel: rootChannel},
	"createSession":        {run: noResult(Host.CreateSession)},
	"disposeSession":       {run: deletion(Host.DisposeSession)},
	"resolveSessionConfig": {run: result(resolveSessionConfig), channel: rootChannel},

	"createChat":  {run: noResult(Host.CreateChat)},
	"disposeChat": {run: deletion(Host.DisposeChat)},
	"moveChat":    {run: ifSupported(result(Host.MoveChat))},
	"fetchTurns":  {run: (*socket).fetchTurns},

	"createTerminal":  {run: noResultOf(terminals, Terminals.Create)},
	"disposeTerminal": {run: noResultOf(terminals, Terminals.Dispose)},

	"resourceRead":    {run: resultOf(files, Files.ResourceRead), concurrent: true, channel: rootChannel},
	"resourceList":    {run: resultOf(files, Files.ResourceList), concurrent: true, channel: rootChannel},
	"resourceResolve": {run: resultOf(files, Files.ResourceResolve), concurrent: true, channel: rootChannel},
	"resourceWrite":   {run: resultOf(files, Files.ResourceWrite), channel: rootChannel, files: true},
	"resourceMkdir":   {run: resultOf(files, Files.ResourceMkdir), channel: rootChannel, files: true},
	"resourceCopy":    {run: resultOf(files, Files.ResourceCopy), channel: rootChannel, files: true},
	"resourceMove":    {run: resultOf(files, Files.ResourceMove), channel: rootChannel, files: true},
	"resourceDelete":  {run: resultOf(files, Files.ResourceDelete), channel: rootChannel, files: true},
	// may ask a person
	"resourceRequest": {run: resultOf(files, Files.ResourceRequest), concurrent: true, channel: rootChannel},

	"completions":              {run: result(Host.Completions), concurrent: true},
	"sessionConfigCompletions": {run: result(Host.SessionConfigCompletions), concurrent: true, channel: rootChannel},
	"authenticate":             {run: result(Host.Authenticate), concurrent: true, channel: rootChannel},

	"createResourceWatch": {run: resultOf(files, Files.CreateResourceWatch), channel: rootChannel},

	"invokeChangesetOperation": {run: result(Host.InvokeChangesetOperation), concurrent: true},

	"listAutomationTriggerDefinitions": {run: ifSupported(resultOf(automations, Automations.ListTriggerDefinitions)),
		channel: rootChannel},
	"runAutomation":       {run: ifSupported(resultOf(automations, Automations.Run))},
	"fetchAutomationRuns": {run: ifSupported(resultOf(automations, Automations.FetchRuns))},
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

// noResult returns a row that answers null.
func noResult[P any](call func(Host, context.Context, core.Caller, P) error) func(*socket, context.Context,
	jsonrpc.Message) error {
	return noResultOf(func(cfg *Config) Host { return cfg.Host }, call)
}

// noResultOf returns a row that answers with null once a part of the host has finished.
func noResultOf[H, P any](part func(*Config) H, call func(H, context.Context, core.Caller, P) error) func(*socket,
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

// deletion returns a row that answers with null once the host has deleted something and no node of
// a cluster shows it.
func deletion[P any](call func(Host, context.Context, core.Caller, P) error) func(*socket, context.Context,
	jsonrpc.Message) error {
	whole := func(cfg *Config) *Config { return cfg }
	return noResultOf(whole, func(cfg *Config, ctx context.Context, c core.Caller, p P) error {
		if err := call(cfg.Host, ctx, c, p); err != nil {
			return err
		}
		cfg.AwaitNodes(context.WithoutCancel(ctx))
		return nil
	})
}

// params decodes the params of a method.
func params(m jsonrpc.Message, into any) error {
	if err := ahp.Unmarshal(m.Params, into); err != nil {
		return ahp.Errorf(ahp.CodeInvalidParams, "%s: %v", m.Method, err)
	}
	return nil
}
