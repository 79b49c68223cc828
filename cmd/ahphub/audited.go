package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/people"
)

// audited writes down what clients of the protocol did; what people did by forms is the web server's to write.
type audited struct {
	rpc.Host
	audit people.Audit
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	typed map[string]time.Time // when somebody's typing in a terminal was last written down
}

func newAudited(h rpc.Host, audit people.Audit, log *slog.Logger) *audited {
	return &audited{Host: h, audit: audit, log: log, now: time.Now, typed: map[string]time.Time{}}
}

const (
	typedEvery = time.Minute
	mostTyped  = 1000
)

// auditedActions are the actions that are written down, in words. What was typed never is.
var auditedActions = map[string]string{
	"chat/toolCallConfirmed":       "answered an approval",
	"chat/toolCallResultConfirmed": "answered an approval",
	"terminal/input":               "typed in a terminal",
	"terminal/claimed":             "took or released a terminal",
	"session/configChanged":        "changed a session's settings",
	"root/configChanged":           "changed the host's settings",
	"session/workingDirectorySet":  "changed a session's directories",
}

// Dispatch writes down what was taken, not what was refused.
func (a *audited) Dispatch(ctx context.Context, c host.Caller, channel ahp.URI, seq int64, action ahp.Action) (hub.Outcome, error) {
	o, err := a.Host.Dispatch(ctx, c, channel, seq, action)
	what := auditedActions[action.ActionType()]
	if err != nil || what == "" || o.Unknown || o.Rejected != "" {
		return o, err
	}
	if action.ActionType() != "terminal/input" || a.due(c.ID+" "+channel) {
		a.note(ctx, c, what, channel)
	}
	return o, nil
}

// due is true once a minute for each key.
func (a *audited) due(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if now.Sub(a.typed[key]) < typedEvery {
		return false
	}
	if len(a.typed) >= mostTyped {
		clear(a.typed)
	}
	a.typed[key] = now
	return true
}

// InvokeChangesetOperation writes files or takes changes back.
func (a *audited) InvokeChangesetOperation(ctx context.Context, c host.Caller, p ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	r, err := a.Host.InvokeChangesetOperation(ctx, c, p)
	if err == nil {
		a.note(ctx, c, "changed files: "+p.OperationID, p.Channel)
	}
	return r, err
}

// CreateSession is written down because whoever makes one runs commands.
func (a *audited) CreateSession(ctx context.Context, c host.Caller, p ahp.CreateSessionParams) error {
	err := a.Host.CreateSession(ctx, c, p)
	if err == nil {
		a.note(ctx, c, "made a session", p.Channel)
	}
	return err
}

// DisposeSession ends a session for good.
func (a *audited) DisposeSession(ctx context.Context, c host.Caller, p ahp.DisposeSessionParams) error {
	err := a.Host.DisposeSession(ctx, c, p)
	if err == nil {
		a.note(ctx, c, "deleted a session", p.Channel)
	}
	return err
}

func (a *audited) note(ctx context.Context, c host.Caller, what string, on ahp.URI) {
	err := a.audit.Add(context.WithoutCancel(ctx), people.Event{Who: c.ID, Name: c.Name, What: what, On: on})
	if err != nil {
		a.log.ErrorContext(ctx, "the audit was not written", "what", what, "err", err)
	}
}
