package host

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Meters counts agents' work. *telemetry.Meters implements it.
type Meters interface {
	Turn(agent, outcome string, took time.Duration)
	ToolCall(agent, outcome string)
	AgentStart(agent, outcome string, took time.Duration)
}

type noMeters struct{}

func (noMeters) Turn(string, string, time.Duration)       {}
func (noMeters) ToolCall(string, string)                  {}
func (noMeters) AgentStart(string, string, time.Duration) {}

// Attributes of spans, by their standard names (AHP requirement 204). None contains messages.
func attrSession(uri ahp.URI) attribute.KeyValue { return attribute.String("ahp.session.id", uri) }
func attrAgent(name string) attribute.KeyValue   { return attribute.String("ahp.agent.provider", name) }

// Outcomes in spans and counters.
const (
	outcomeOK        = "ok"
	outcomeFailed    = "failed"
	outcomeCancelled = "cancelled"
	outcomeDenied    = "denied"
)

func endSpan(span trace.Span, outcome string) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("ahp.outcome", outcome))
		if outcome == outcomeFailed {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// provider returns a session's agent, for counters.
func (h *Host) provider(session ahp.URI) string {
	if e := h.core.Catalogue.Get(session); e != nil {
		return e.Summary.Provider
	}
	return ""
}

// traceTurn runs a turn inside its span, the parent of its tool calls' spans.
func (l *sessionRuntime) traceTurn(r *run, play func(context.Context) error) error {
	ctx, end := l.turnSpan(r.ctx, r)
	err := play(ctx)
	end(err)
	return err
}

// turnSpan starts the span of a turn, until end is called.
func (l *sessionRuntime) turnSpan(ctx context.Context, r *run) (_ context.Context, end func(error)) {
	began, provider := l.h.core.Now(), l.h.provider(l.uri)
	ctx, span := l.h.cfg.Tracer.Start(ctx, "turn")
	if span.IsRecording() {
		span.SetAttributes(attrSession(l.uri), attribute.String("ahp.chat.id", r.chat), attribute.String("ahp.turn.id",
			r.id), attrAgent(provider))
	}
	r.calls.begin(ctx)
	return ctx, func(err error) {
		outcome := outcomeOf(r, err)
		r.calls.endAll(l.h, provider)
		endSpan(span, outcome)
		l.h.cfg.Meters.Turn(provider, outcome, l.h.core.Now().Sub(began))
	}
}

func outcomeOf(r *run, err error) string {
	switch {
	case errors.Is(context.Cause(r.ctx), errTurnFull):
		return outcomeFailed
	case err == nil:
		return outcomeOK
	case context.Cause(r.ctx) != nil && !errors.Is(context.Cause(r.ctx), core.ErrStopping):
		return outcomeCancelled
	}
	return outcomeFailed
}

// traceOpening opens an agent inside a span.
func (l *sessionRuntime) traceOpening(provider string, open func() (agent.Session, error)) (agent.Session, error) {
	began := l.h.core.Now()
	_, span := l.h.cfg.Tracer.Start(l.ctx, "agent start")
	if span.IsRecording() {
		span.SetAttributes(attrSession(l.uri), attrAgent(provider))
	}
	s, err := open()
	outcome := outcomeOK
	if err != nil {
		outcome = outcomeFailed
	}
	endSpan(span, outcome)
	l.h.cfg.Meters.AgentStart(provider, outcome, l.h.core.Now().Sub(began))
	return s, err
}
