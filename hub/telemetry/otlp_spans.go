package telemetry

import (
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	Flags      uint32          `json:"flags,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Status     otlpStatus      `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type scopeSpans struct {
	Scope otlpScope  `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type resourceSpans struct {
	Resource otlpResource `json:"resource"`
	Scopes   []scopeSpans `json:"scopeSpans"`
}

type spansData struct {
	Resources []resourceSpans `json:"resourceSpans"`
}

func (t *Telemetry) span(s sdktrace.ReadOnlySpan) otlpSpan {
	c := s.SpanContext()
	out := otlpSpan{TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), Flags: uint32(c.TraceFlags()),
		Name: s.Name(),
		Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: t.attributes(s.Attributes())}
	if p := s.Parent(); p.IsValid() {
		out.Parent = p.SpanID().String()
	}
	switch s.Status().Code { // OTLP numbers them differently
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = otlpStatus{2, t.secrets.text(s.Status().Description)}
	}
	return out
}

// spansPayload encodes spans with one resource and one scope, the host.
func (t *Telemetry) spansPayload(list []sdktrace.ReadOnlySpan) []byte {
	spans := make([]otlpSpan, len(list))
	for i, s := range list {
		spans[i] = t.span(s)
	}
	return encode(spansData{[]resourceSpans{{t.resource(),
		[]scopeSpans{{scopeOf(list[0].InstrumentationScope()), spans}}}}})
}
