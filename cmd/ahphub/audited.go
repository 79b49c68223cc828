package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/people"
)

// audited writes down what clients of the protocol did; what people did by forms is the web server's to write.
type audited struct {
	rpc.Host
	audit people.Audit
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	lately map[string]time.Time // when what goes on and on, as typing, was last written down
}

func newAudited(h rpc.Host, audit people.Audit, log *slog.Logger) *audited {
	return &audited{Host: h, audit: audit, log: log, now: time.Now, lately: map[string]time.Time{}}
}

const (
	latelyEvery = time.Minute
	mostLately  = 1000
)

// Dispatch writes down what was taken, not what was refused.
func (a *audited) Dispatch(ctx context.Context, c core.Caller, channel ahp.URI, seq int64,
	action ahp.Action) (hub.Outcome, error) {
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
	if now.Sub(a.lately[key]) < latelyEvery {
		return false
	}
	if len(a.lately) >= mostLately {
		clear(a.lately)
	}
	a.lately[key] = now
	return true
}

// did writes down a call that went well; a file that is written again and again, once a minute.
func (a *audited) did(ctx context.Context, c core.Caller, method, detail string, on ahp.URI, err error) {
	what := auditedMethods[method]
	if err != nil || what == "" || method == "resourceWrite" && !a.due(c.ID+" "+on) {
		return
	}
	if detail != "" {
		what += ": " + detail
	}
	a.note(ctx, c, what, on)
}

func (a *audited) note(ctx context.Context, c core.Caller, what string, on ahp.URI) {
	err := a.audit.Add(context.WithoutCancel(ctx), people.Event{Who: c.ID, Name: c.Name, What: what, On: on})
	if err != nil {
		a.log.ErrorContext(ctx, "the audit was not written", "what", what, "err", err)
	}
}
