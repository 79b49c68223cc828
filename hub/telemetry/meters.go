package telemetry

import (
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Meters are the host's metrics. /metrics and the telemetry channel show the same registry.
type Meters struct {
	registry *prometheus.Registry
	dropped  *prometheus.CounterVec
	requests *prometheus.CounterVec
	turns    *prometheus.HistogramVec
	calls    *prometheus.CounterVec
	starts   *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	journal  prometheus.Histogram
}

// newMeters creates the metrics of a program version.
func newMeters(version string) *Meters {
	m := &Meters{
		registry: prometheus.NewRegistry(),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_telemetry_dropped_total",
			Help: "Log records, spans and batches dropped because too many were queued."}, []string{"what"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_ahp_requests_total",
			Help: "Requests and notifications of AHP clients."}, []string{"method", "outcome"}),
		turns: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ahphub_turn_seconds",
			Help: "How long turns took.", Buckets: []float64{.1, .5, 1, 5, 15, 60, 300, 1200, 3600}},
			[]string{"agent", "outcome"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_tool_calls_total",
			Help: "Tool calls that ended."}, []string{"agent", "outcome"}),
		starts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ahphub_agent_start_seconds",
			Help: "How long agents took to be opened.", Buckets: []float64{.01, .1, .5, 1, 2.5, 5, 10, 30, 60}},
			[]string{"agent", "outcome"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_agent_tokens_total",
			Help: "Reported tokens of turns."}, []string{"agent", "kind"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ahphub_agent_cost_total",
			Help: "Reported cost of turns, by currency."}, []string{"agent", "currency"}),
		journal: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ahphub_journal_write_seconds",
			Help:    "Time of each write of the journal.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}}),
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ahphub_build_info",
		Help:        "Always 1; the labels name this build.",
		ConstLabels: prometheus.Labels{"version": strings.ToValidUTF8(version, ""), "go": runtime.Version()}},
		func() float64 { return 1 }))
	m.registry.MustRegister(m.journal, m.dropped, m.requests, m.turns, m.calls, m.starts, m.tokens, m.cost)
	return m
}

// Request counts a client's request. method is one of the method table, or "other".
func (m *Meters) Request(method, outcome string) { m.requests.WithLabelValues(method, outcome).Inc() }

// Turn counts a turn at its end.
func (m *Meters) Turn(agent, outcome string, took time.Duration) {
	m.turns.WithLabelValues(agent, outcome).Observe(took.Seconds())
}

// ToolCall counts a tool call at its end.
func (m *Meters) ToolCall(agent, outcome string) { m.calls.WithLabelValues(agent, outcome).Inc() }

// JournalWrite counts a write of the journal.
func (m *Meters) JournalWrite(took time.Duration) { m.journal.Observe(took.Seconds()) }

// Tokens counts the tokens of an agent: "input", "output" or "cache_read".
func (m *Meters) Tokens(agent, kind string, n int64) {
	if n > 0 {
		m.tokens.WithLabelValues(agent, kind).Add(float64(n))
	}
}

// Cost counts the cost of an agent's turns.
func (m *Meters) Cost(agent, currency string, amount float64) {
	if amount > 0 {
		m.cost.WithLabelValues(agent, currency).Add(amount)
	}
}

// AgentStart counts the start of an agent, or its failure.
func (m *Meters) AgentStart(agent, outcome string, took time.Duration) {
	m.starts.WithLabelValues(agent, outcome).Observe(took.Seconds())
}
