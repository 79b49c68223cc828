package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// counters are this server's metrics.
type counters struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	refused  prometheus.Counter
	handler  http.Handler
	close    func() // unregisters them
}

// newCounters adds the metrics to a registry; nil is a new one.
func newCounters(reg *prometheus.Registry, more []Metric) *counters {
	c := &counters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_http_requests_total",
			Help: "Requests answered."},
			[]string{"method", "route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ahphub_http_request_seconds",
			Help:    "Time until requests were answered, without sockets and streams.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"route"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "ahphub_wrong_tokens_total",
			Help: "Tokens refused."}),
	}
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	all := []prometheus.Collector{c.requests, c.took, c.refused, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, m := range more {
		if m.Each != nil {
			all = append(all, newSeries(m))
			continue
		}
		if m.Counter {
			all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Read))
		} else {
			all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Read))
		}
	}
	reg.MustRegister(all...)
	c.close = func() {
		for _, one := range all {
			reg.Unregister(one)
		}
	}
	c.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return c
}

// series collects the series of one metric.
type series struct {
	metric Metric
	desc   *prometheus.Desc
}

func newSeries(m Metric) series {
	return series{m, prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)}
}

// Describe implements prometheus.Collector.
func (s series) Describe(to chan<- *prometheus.Desc) { to <- s.desc }

// Collect implements prometheus.Collector.
func (s series) Collect(to chan<- prometheus.Metric) {
	kind := prometheus.GaugeValue
	if s.metric.Counter {
		kind = prometheus.CounterValue
	}
	s.metric.Each(func(value float64, labels ...string) {
		if m, err := prometheus.NewConstMetric(s.desc, kind, value, labels...); err == nil {
			to <- m
		} else {
			to <- prometheus.NewInvalidMetric(s.desc, err)
		}
	})
}

// request counts by route pattern, never by path, so that the number of series is bounded.
// The durations of sockets and streams are not recorded: they last until they are closed.
func (c *counters) request(method, route string, status int, took time.Duration, stream bool) {
	if route == "" {
		route = "none"
	}
	if !stream {
		c.took.WithLabelValues(route).Observe(took.Seconds())
	}
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodOptions:
	default:
		method = "other"
	}
	c.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
}
