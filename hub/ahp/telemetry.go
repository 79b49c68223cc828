package ahp

// TelemetryCapabilities names the telemetry channels; absent signals are not sent.
type TelemetryCapabilities struct {
	Logs    URI `json:"logs,omitempty"`
	Traces  URI `json:"traces,omitempty"`
	Metrics URI `json:"metrics,omitempty"`
}

// OtlpExportLogsParams are the params of otlp/exportLogs: OTLP in JSON, verbatim.
type OtlpExportLogsParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}

// OtlpExportTracesParams are the params of otlp/exportTraces: OTLP in JSON, verbatim.
type OtlpExportTracesParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}

// OtlpExportMetricsParams are the params of otlp/exportMetrics: OTLP in JSON, verbatim.
type OtlpExportMetricsParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}
