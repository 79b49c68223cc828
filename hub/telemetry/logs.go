package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// gate passes on records whose severity is followed. It is in front of the bridge, so that other
// records are not even converted.
type gate struct {
	slog.Handler
	level *atomic.Int32
}

// severity converts levels as the bridge does: slog's Info is 0, OpenTelemetry's 9.
func severity(l slog.Level) log.Severity { return log.Severity(int(l) + int(log.SeverityInfo)) }

func (g *gate) Enabled(_ context.Context, l slog.Level) bool {
	least := g.level.Load()
	return least > 0 && int32(severity(l)) >= least
}

func (g *gate) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &gate{g.Handler.WithAttrs(attrs), g.level}
}

func (g *gate) WithGroup(name string) slog.Handler { return &gate{g.Handler.WithGroup(name), g.level} }

// logProcessor queues records for the next batch.
type logProcessor struct{ t *Telemetry }

func (p logProcessor) Enabled(_ context.Context, e sdklog.EnabledParameters) bool {
	least := log.Severity(p.t.level.Load())
	return least > 0 && e.Severity >= least
}

func (p logProcessor) OnEmit(_ context.Context, r *sdklog.Record) error {
	p.t.logs.put(r.Clone())
	return nil
}

func (logProcessor) Shutdown(context.Context) error   { return nil }
func (logProcessor) ForceFlush(context.Context) error { return nil }

// sendLogs sends queued records to each channel by its level.
func (t *Telemetry) sendLogs() {
	records := t.logs.take()
	if len(records) == 0 {
		return
	}
	lines := make([]otlpLog, len(records))
	for i := range records {
		lines[i] = t.logRecord(&records[i])
	}
	for _, to := range t.follow.of(logs) {
		level := int(to[0].channel.level)
		var some []otlpLog
		for _, l := range lines {
			if l.SeverityNumber >= level {
				some = append(some, l)
			}
		}
		if len(some) > 0 {
			t.send(to, logs, t.logsPayload(records[0].InstrumentationScope(), some))
		}
	}
}
