package host

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ahphub/ahphub/hub/ahp"
)

// callSpans holds the spans of a turn's open tool calls.
type callSpans struct {
	mu   sync.Mutex
	ctx  context.Context // contains the turn's span
	open map[string]trace.Span
}

func (c *callSpans) begin(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.open = ctx, map[string]trace.Span{}
}

// note starts and ends the spans of tool calls, after the action is in the timeline.
func (o *out) note(a ahp.Action) {
	switch a := a.(type) {
	case *ahp.ChatToolCallStartAction:
		o.r.calls.start(o, a.ToolCallID, a.ToolName)
	case *ahp.ChatToolCallReadyAction:
		o.r.calls.start(o, a.ToolCallID, "")
	case *ahp.ChatToolCallCompleteAction:
		outcome := outcomeOK
		if !a.Result.Success {
			outcome = outcomeFailed
		}
		o.r.calls.end(o, a.ToolCallID, outcome)
	}
}

func (c *callSpans) start(o *out, id, tool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.open[id]; known || c.ctx == nil {
		return
	}
	_, span := o.l.h.cfg.Tracer.Start(c.ctx, "tool call")
	if span.IsRecording() {
		span.SetAttributes(attrSession(o.l.uri), attribute.String("ahp.chat.id", o.r.chat),
			attribute.String("ahp.turn.id", o.r.id),
			attribute.String("ahp.tool_call.id", id), attribute.String("ahp.tool.name", tool))
	}
	c.open[id] = span
}

func (c *callSpans) end(o *out, id, outcome string) {
	c.mu.Lock()
	span, known := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if known {
		endSpan(span, outcome)
		o.l.h.cfg.Meters.ToolCall(o.l.h.provider(o.l.uri), outcome)
	}
}

// endAll ends the calls that the turn left open.
func (c *callSpans) endAll(h *Host, provider string) {
	c.mu.Lock()
	left := slices.Collect(maps.Values(c.open))
	c.ctx, c.open = nil, nil
	c.mu.Unlock()
	for _, span := range left {
		endSpan(span, outcomeCancelled)
		h.cfg.Meters.ToolCall(provider, outcomeCancelled)
	}
}
