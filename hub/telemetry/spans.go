package telemetry

import (
	"context"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracer makes spans while they have followers.
type tracer struct {
	embedded.Tracer
	real trace.Tracer
	on   *atomic.Bool
}

func (t tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !t.on.Load() {
		return ctx, noop.Span{}
	}
	return t.real.Start(ctx, name, opts...)
}

func (t tracer) Enabled(ctx context.Context) bool { return t.on.Load() }

// spanProcessor queues ended spans for the next batch.
type spanProcessor struct{ t *Telemetry }

func (spanProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (p spanProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.t.tracing.Load() {
		p.t.spans.put(s)
	}
}

func (spanProcessor) Shutdown(context.Context) error   { return nil }
func (spanProcessor) ForceFlush(context.Context) error { return nil }

func (t *Telemetry) sendSpans() {
	spans := t.spans.take()
	if len(spans) == 0 {
		return
	}
	payload := t.spansPayload(spans)
	for _, to := range t.follow.of(traces) {
		t.send(to, traces, payload)
	}
}
