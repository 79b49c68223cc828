package web

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

var spanOfRequest = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}

// endSpan names the span of a request by its route: an address may contain secrets.
func endSpan(span trace.Span, method, route string, status int) {
	if span.IsRecording() {
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}
