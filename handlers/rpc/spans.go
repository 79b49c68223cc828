package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

var spanOfRequest = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}

// startSpan starts the span of a request, without the client's content. Without subscribers of
// spans it costs almost nothing.
func (s *socket) startSpan(m jsonrpc.Message) (context.Context, trace.Span) {
	ctx, span := s.cfg.Tracer.Start(s.ctx, m.Method, spanOfRequest...)
	if !span.IsRecording() {
		return ctx, span
	}
	var p struct {
		Channel ahp.URI `json:"channel"`
		Action  struct {
			Type string `json:"type"`
		} `json:"action"`
	}
	_ = json.Unmarshal(m.Params, &p) // the method itself reports what is wrong with it
	span.SetAttributes(attribute.String("rpc.system.name", "jsonrpc"), attribute.String("rpc.method", m.Method),
		attribute.String("ahp.client.id", s.clientID), attribute.String("ahp.channel", p.Channel))
	if info, ok := s.cfg.Hub.Info(p.Channel); ok && info.Session != "" {
		span.SetAttributes(attribute.String("ahp.session.id", info.Session))
	}
	if p.Action.Type != "" {
		span.SetAttributes(attribute.String("ahp.action", p.Action.Type))
	}
	return ctx, span
}

// endSpan ends the span of a request and counts it.
func (s *socket) endSpan(span trace.Span, method string, err error) {
	outcome := "ok"
	var known *ahp.Error
	switch {
	case errors.As(err, &known):
		outcome = "refused"
		span.SetAttributes(attribute.Int("rpc.response.status_code", known.Code))
		span.SetStatus(codes.Error, known.Message)
	case err != nil:
		outcome = "failed"
		span.SetStatus(codes.Error, "failed")
	}
	span.End()
	s.cfg.Count(method, outcome)
}
