package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

type otlpLog struct {
	Time           string          `json:"timeUnixNano"`
	Observed       string          `json:"observedTimeUnixNano"`
	SeverityNumber int             `json:"severityNumber"`
	SeverityText   string          `json:"severityText,omitempty"`
	Body           otlpValue       `json:"body"`
	Attributes     []otlpAttribute `json:"attributes"`
	TraceID        string          `json:"traceId,omitempty"`
	SpanID         string          `json:"spanId,omitempty"`
	Flags          uint32          `json:"flags,omitempty"`
}

type scopeLogs struct {
	Scope   otlpScope `json:"scope"`
	Records []otlpLog `json:"logRecords"`
}

type resourceLogs struct {
	Resource otlpResource `json:"resource"`
	Scopes   []scopeLogs  `json:"scopeLogs"`
}

type logsData struct {
	Resources []resourceLogs `json:"resourceLogs"`
}

func (t *Telemetry) logRecord(r *sdklog.Record) otlpLog {
	l := otlpLog{Time: nanos(r.Timestamp()), Observed: nanos(r.ObservedTimestamp()), SeverityNumber: int(r.Severity()),
		SeverityText: r.SeverityText(), Body: t.value(r.Body()), Attributes: []otlpAttribute{}}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		l.Attributes = append(l.Attributes, t.attribute(kv))
		return true
	})
	if r.TraceID().IsValid() {
		l.TraceID, l.SpanID, l.Flags = r.TraceID().String(), r.SpanID().String(), uint32(r.TraceFlags())
	}
	return l
}

func (t *Telemetry) logsPayload(scope instrumentation.Scope, lines []otlpLog) []byte {
	return encode(logsData{[]resourceLogs{{t.resource(), []scopeLogs{{scopeOf(scope), lines}}}}})
}

func (t *Telemetry) resource() otlpResource { return otlpResource{t.attributes(t.about.Attributes())} }
