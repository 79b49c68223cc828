package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// method is a row of the table. Rows run in the order requests came, so that
// createSession and the subscribe pipelined behind it work (AHP requirement
// 39); those that only read, or take long, may run beside others.
type method struct {
	run    func(s *socket, ctx context.Context, m jsonrpc.Message) error // answers m itself, unless it fails
	always bool                                                          // also before initialize
	beside bool
	root   bool // params.channel is ahp-root:// and may be left out
	files  bool // runs beside others when the files lie with a client: it is asked, and may ask back
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

	"createTerminal":  {run: null(Host.CreateTerminal)},
	"disposeTerminal": {run: null(Host.DisposeTerminal)},

	"resourceRead":    {run: result(Host.ResourceRead), beside: true, root: true},
	"resourceList":    {run: result(Host.ResourceList), beside: true, root: true},
	"resourceResolve": {run: result(Host.ResourceResolve), beside: true, root: true},
	"resourceWrite":   {run: result(Host.ResourceWrite), root: true, files: true},
	"resourceMkdir":   {run: result(Host.ResourceMkdir), root: true, files: true},
	"resourceCopy":    {run: result(Host.ResourceCopy), root: true, files: true},
	"resourceMove":    {run: result(Host.ResourceMove), root: true, files: true},
	"resourceDelete":  {run: result(Host.ResourceDelete), root: true, files: true},
	"resourceRequest": {run: result(Host.ResourceRequest), beside: true, root: true}, // a person may be asked

	"completions":              {run: result(Host.Completions), beside: true},
	"sessionConfigCompletions": {run: result(Host.SessionConfigCompletions), beside: true, root: true},
	"authenticate":             {run: result(Host.Authenticate), root: true},

	"createResourceWatch": {run: result(Host.CreateResourceWatch), root: true},

	"invokeChangesetOperation": {run: result(Host.InvokeChangesetOperation), beside: true},

	"listAutomationTriggerDefinitions": {run: ofAutomations(result(Host.ListAutomationTriggerDefinitions)), root: true},
	"runAutomation":                    {run: ofAutomations(result(Host.RunAutomation))},
	"fetchAutomationRuns":              {run: ofAutomations(result(Host.FetchAutomationRuns))},
}

// result is a row that answers with what the host returns.
func result[P, R any](call func(Host, context.Context, core.Caller, P) (R, error)) func(*socket, context.Context, jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		var p P
		if err := params(m, &p); err != nil {
			return err
		}
		r, err := call(s.cfg.Host, ctx, s.caller(), p)
		if err != nil {
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

// null is a row that answers null.
func null[P any](call func(Host, context.Context, core.Caller, P) error) func(*socket, context.Context, jsonrpc.Message) error {
	return func(s *socket, ctx context.Context, m jsonrpc.Message) error {
		var p P
		if err := params(m, &p); err != nil {
			return err
		}
		if err := call(s.cfg.Host, ctx, s.caller(), p); err != nil {
			return err
		}
		s.answer(m, nil)
		return nil
	}
}

// params decodes what a method was given.
func params(m jsonrpc.Message, into any) error {
	if err := ahp.Unmarshal(m.Params, into); err != nil {
		return ahp.Errorf(ahp.CodeInvalidParams, "%s: %v", m.Method, err)
	}
	return nil
}
