package web

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// counters are this server's metrics.
type counters struct {
	requests *prometheus.CounterVec
	refused  prometheus.Counter
	handler  http.Handler
}

// newCounters adds the metrics to a registry; nil is a new one.
func newCounters(reg *prometheus.Registry, gauges map[string]func() any) *counters {
	c := &counters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_http_requests_total",
			Help: "Requests answered."},
			[]string{"method", "route", "status"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "ahphub_wrong_tokens_total",
			Help: "Tokens refused."}),
	}
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	reg.MustRegister(c.requests, c.refused, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, read := range gauges {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ahphub_" + name},
			func() float64 { return toFloat(read()) }))
	}
	c.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return c
}

// request counts by route pattern, never by path, so that the number of series is bounded.
func (c *counters) request(method, route string, status int) {
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodOptions:
	default:
		method = "other"
	}
	c.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
