// Package telemetry publishes the host's log, spans and metrics. OpenTelemetry's SDK collects them,
// and followers of the channels of InitializeResult.telemetry get them as OTLP in JSON. Without
// followers nothing is collected: a span or a log record costs the load of an atomic value.
package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config of Telemetry; zero fields take the stated default.
type Config struct {
	Name, Version string // of the service: ahphub
	Limits        Limits
}

// Limits bounds queues and batches.
type Limits struct {
	Waiting   int           // log records, and as many spans; further ones are dropped and counted: 4096
	Batch     int           // a batch of this size is sent at once: 512
	Every     time.Duration // interval of other batches: 1 s
	Metrics   time.Duration // interval of metrics: 10 s
	Followers int           // of all channels together: 256
	Value     int           // bytes of a text: 4096
	Values    int           // attributes of a record or span: 64
}

func (l Limits) withDefaults() Limits {
	l.Waiting = cmp.Or(l.Waiting, 4096)
	l.Batch = cmp.Or(l.Batch, 512)
	l.Every = cmp.Or(l.Every, time.Second)
	l.Metrics = cmp.Or(l.Metrics, 10*time.Second)
	l.Followers = cmp.Or(l.Followers, 256)
	l.Value = cmp.Or(l.Value, 4096)
	l.Values = cmp.Or(l.Values, 64)
	return l
}

// Telemetry collects and sends telemetry. Its methods may be called from any goroutine; Run sends.
type Telemetry struct {
	*Meters

	limits  Limits
	about   *resource.Resource
	handler slog.Handler
	tracer  trace.Tracer
	reader  *metric.ManualReader
	secrets secrets

	level   atomic.Int32 // lowest followed severity; 0: none
	tracing atomic.Bool
	follow  followers

	logs  *queue[sdklog.Record]
	spans *queue[sdktrace.ReadOnlySpan]
	wake  chan struct{} // signals a new follower or a full batch
}

// New returns a Telemetry without followers.
func New(cfg Config) *Telemetry {
	t := &Telemetry{limits: cfg.Limits.withDefaults(), wake: make(chan struct{}, 1), Meters: newMeters(cfg.Version)}
	name := cmp.Or(cfg.Name, "ahphub")
	t.about = resource.NewSchemaless(attribute.String("service.name", name),
		attribute.String("service.version", cfg.Version),
		attribute.String("telemetry.sdk.language", "go"), attribute.String("telemetry.sdk.name", "opentelemetry"))
	t.logs = newQueue[sdklog.Record](t.limits, t.dropped.WithLabelValues("logs"), t.wake)
	t.spans = newQueue[sdktrace.ReadOnlySpan](t.limits, t.dropped.WithLabelValues("traces"), t.wake)
	records := sdklog.NewLoggerProvider(sdklog.WithResource(t.about), sdklog.WithProcessor(logProcessor{t}),
		sdklog.WithAttributeValueLengthLimit(t.limits.Value), sdklog.WithAttributeCountLimit(t.limits.Values))
	t.handler = &gate{otelslog.NewHandler(name, otelslog.WithVersion(cfg.Version),
		otelslog.WithLoggerProvider(records)),
		&t.level}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.AttributeCountLimit = t.limits.Value, t.limits.Values
	spans := sdktrace.NewTracerProvider(sdktrace.WithResource(t.about), sdktrace.WithSpanProcessor(spanProcessor{t}),
		sdktrace.WithRawSpanLimits(limits))
	t.tracer = tracer{real: spans.Tracer(name, trace.WithInstrumentationVersion(cfg.Version)), on: &t.tracing}
	t.reader = metric.NewManualReader(metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(t.registry))))
	metric.NewMeterProvider(metric.WithResource(t.about), metric.WithReader(t.reader))
	return t
}

// Handler returns a handler for log records, enabled for followed severities.
func (t *Telemetry) Handler() slog.Handler { return t.handler }

// Tracer returns a tracer whose spans record nothing while they have no followers.
func (t *Telemetry) Tracer() trace.Tracer { return t.tracer }

// Registry returns the registry of all metrics.
func (t *Telemetry) Registry() *prometheus.Registry { return t.registry }

// Hide registers a secret that must not be published.
func (t *Telemetry) Hide(secret string) { t.secrets.hide(secret) }

// Hidden removes the registered secrets from a text; the logs that are not published use it.
func (t *Telemetry) Hidden(text string) string { return t.secrets.replaceKnown(text) }

// Run sends batches until ctx ends.
func (t *Telemetry) Run(ctx context.Context) {
	var last time.Time // time of the last metrics
	for {
		if t.follow.none() {
			select {
			case <-t.wake:
			case <-ctx.Done():
				return
			}
			last = time.Time{}
			continue
		}
		if now := time.Now(); t.follow.takeFresh() || now.Sub(last) >= t.limits.Metrics {
			last = now
			t.sendMetrics(ctx)
		}
		t.sendLogs()
		t.sendSpans()
		timer := time.NewTimer(t.limits.Every)
		select {
		case <-t.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
