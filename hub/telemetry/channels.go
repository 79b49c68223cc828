package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/log"

	"github.com/ahphub/ahphub/hub/ahp"
)

// The channels in InitializeResult.telemetry (AHP requirement 201). That of logs is a template.
const (
	scheme     = "ahp-otlp:"
	logsURI    = scheme + "/logs/"
	tracesURI  = scheme + "/traces"
	metricsURI = scheme + "/metrics"
)

// Channels returns the host's channels.
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

// levels are the names a client may use for {level}, with the lower bound of their bands. Without
// one a client gets all.
var levels = map[string]log.Severity{
	"": log.SeverityTrace, "trace": log.SeverityTrace, "debug": log.SeverityDebug, "info": log.SeverityInfo,
	"warn": log.SeverityWarn, "error": log.SeverityError, "fatal": log.SeverityFatal,
}

// channel is a parsed URI.
type channel struct {
	signal signal
	level  log.Severity // of logs: the lowest
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
		return channel{}, ahp.Errorf(ahp.CodeNotFound, "there is no telemetry at %.200q. Use %s{level}, %s or %s", uri,
			logsURI, tracesURI, metricsURI)
	}
	level, ok := levels[strings.ToLower(name)]
	if !ok {
		return channel{}, ahp.Errorf(ahp.CodeInvalidParams,
			"channel: %.40q is not a level. Use trace, debug, info, warn, error or fatal", name)
	}
	return channel{logs, level}, nil
}

// Check reports why a URI cannot be followed; nil when it can.
func (t *Telemetry) Check(uri ahp.URI) error {
	if _, err := parse(uri); err != nil {
		return err
	}
	if t.follow.isFull(t.limits.Followers) {
		return ahp.Errorf(ahp.CodeInvalidRequest,
			"there are already %d subscriptions to telemetry. Unsubscribe from one first", t.limits.Followers)
	}
	return nil
}
