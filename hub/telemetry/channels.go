package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/log"

	"github.com/ahphub/ahphub/hub/ahp"
)

// The channels, as InitializeResult.telemetry names them (AHP requirement 201). That of logs is a template.
const (
	scheme     = "ahp-otlp:"
	logsURI    = scheme + "/logs/"
	tracesURI  = scheme + "/traces"
	metricsURI = scheme + "/metrics"
)

// Channels are what this host sends.
func (*Telemetry) Channels() ahp.TelemetryCapabilities {
	return ahp.TelemetryCapabilities{Logs: logsURI + "{level}", Traces: tracesURI, Metrics: metricsURI}
}

// signal is a kind of telemetry, and its method.
type signal string

const (
	logs    signal = "otlp/exportLogs"
	traces  signal = "otlp/exportTraces"
	metrics signal = "otlp/exportMetrics"
)

// levels are the short names a client may put for {level}, and where their bands begin. None is all.
var levels = map[string]log.Severity{
	"": log.SeverityTrace, "trace": log.SeverityTrace, "debug": log.SeverityDebug, "info": log.SeverityInfo,
	"warn": log.SeverityWarn, "error": log.SeverityError, "fatal": log.SeverityFatal,
}

// channel is what a URI asks for.
type channel struct {
	signal signal
	level  log.Severity // of logs: the least
}

func parse(uri ahp.URI) (channel, error) {
	switch uri {
	case tracesURI:
		return channel{signal: traces}, nil
	case metricsURI:
		return channel{signal: metrics}, nil
	}
	name, ok := strings.CutPrefix(uri, logsURI)
	if !ok {
		return channel{}, ahp.Errorf(ahp.CodeNotFound, "there is no telemetry at %.200q: there is at %s{level}, %s and %s", uri, logsURI, tracesURI, metricsURI)
	}
	level, ok := levels[strings.ToLower(name)]
	if !ok {
		return channel{}, ahp.Errorf(ahp.CodeInvalidParams, "channel: %.40q is no level: use trace, debug, info, warn, error or fatal", name)
	}
	return channel{logs, level}, nil
}

// Check reports whether a URI names telemetry that can be followed.
func (t *Telemetry) Check(uri ahp.URI) error {
	if _, err := parse(uri); err != nil {
		return err
	}
	if t.follow.full(t.limits.Followers) {
		return ahp.Errorf(ahp.CodeInvalidRequest, "telemetry is followed %d times, which is the most: unsubscribe somewhere first", t.limits.Followers)
	}
	return nil
}
