package ahp

// TelemetryCapabilities is a part of the protocol.
type TelemetryCapabilities struct {
	Logs    URI `json:"logs,omitempty"`
	Traces  URI `json:"traces,omitempty"`
	Metrics URI `json:"metrics,omitempty"`
}

// OtlpExportLogsParams are the params of otlpExportLogs.
type OtlpExportLogsParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}

// OtlpExportTracesParams are the params of otlpExportTraces.
type OtlpExportTracesParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}

// OtlpExportMetricsParams are the params of otlpExportMetrics.
type OtlpExportMetricsParams struct {
	Channel URI  `json:"channel"`
	Payload Meta `json:"payload"`
}
