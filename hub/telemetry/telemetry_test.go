package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is what a follower received.
type heard struct {
	mu   sync.Mutex
	got  []string
	deaf bool
}

func (h *heard) deliver(method string, params []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.deaf {
		h.got = append(h.got, method+" "+string(params))
	}
	return !h.deaf
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.got, "\n")
}

// running starts a Telemetry in a bubble; flush sends a batch.
func running(t *testing.T, l Limits) (tel *Telemetry, flush func()) {
	tel = New(Config{Name: "ahphub", Version: "1.2.3", Limits: l})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tel.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return tel, func() {
		time.Sleep(tel.limits.Every) // in a bubble
		synctest.Wait()
	}
}

// Each level is a subscription of its own, and gets its band and those above (AHP requirement 203).
func TestLogsByLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, flush := running(t, Limits{})
		log := slog.New(tel.Handler())
		var warn, debug heard
		log.Error("before anybody")
		leave := tel.Follow("ahp-otlp:/logs/WARN", warn.deliver)
		defer tel.Follow("ahp-otlp:/logs/debug", debug.deliver)()
		log.Debug("one", "session", "ahp-session:/7", "n", 3, slog.Group("g", "on", true))
		log.Warn("two", "turn", "t1", "call", "c1", "err", errors.New("it broke"))
		flush()
		if got := warn.all(); strings.Contains(got, `"one"`) || !strings.Contains(got, `"two"`) ||
			!strings.HasPrefix(got, `otlp/exportLogs {"channel":"ahp-otlp:/logs/WARN","payload":{"resourceLogs":[`) {
			t.Error("at warn:", got)
		}
		got := debug.all()
		for _, want := range []string{ // AHP requirements 202 and 204
			`{"key":"service.name","value":{"stringValue":"ahphub"}}`, `"scope":{"name":"ahphub","version":"1.2.3"}`,
			`"severityNumber":5,"severityText":"DEBUG","body":{"stringValue":"one"}`,
			`{"key":"ahp.session.id","value":{"stringValue":"ahp-session:/7"}}`, `{"key":"n","value":{"intValue":"3"}}`,
			`{"key":"g","value":{"kvlistValue":{"values":[{"key":"on","value":{"boolValue":true}}]}}}`,
			`"severityNumber":13`, `{"key":"ahp.turn.id","value":{"stringValue":"t1"}}`, `it broke`,
			`{"key":"ahp.tool_call.id","value":{"stringValue":"c1"}}`,
			`"timeUnixNano":"94668480`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		if strings.Contains(got, "before anybody") {
			t.Error("what was said before is replayed") // AHP requirement 205
		}
		leave()
		before := warn.all()
		log.Error("three")
		flush()
		if warn.all() != before || !strings.Contains(debug.all(), "three") {
			t.Error("who left still hears, or others do not")
		}
	})
}

func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, flush := running(t, Limits{})
		if _, span := tel.Tracer().Start(t.Context(), "nobody looks"); span.IsRecording() {
			t.Error("a span is recorded for nobody")
		}
		var h heard
		defer tel.Follow("ahp-otlp:/traces", h.deliver)()
		ctx, turn := tel.Tracer().Start(t.Context(), "turn", trace.WithAttributes(attribute.String("ahp.turn.id",
			"t1")))
		_, call := tel.Tracer().Start(ctx, "tool call")
		time.Sleep(20 * time.Millisecond)
		slog.New(tel.Handler()).InfoContext(ctx, "nobody follows the log")
		call.End()
		turn.End()
		flush()
		var frame struct {
			Channel ahp.URI   `json:"channel"`
			Payload spansData `json:"payload"`
		}
		text, _ := strings.CutPrefix(h.all(), "otlp/exportTraces ")
		if err := json.Unmarshal([]byte(text), &frame); err != nil {
			t.Fatal(err, text)
		}
		spans := frame.Payload.Resources[0].Scopes[0].Spans
		if len(spans) != 2 || spans[0].Name != "tool call" || spans[0].Parent != spans[1].SpanID ||
			spans[0].TraceID != spans[1].TraceID ||
			len(spans[0].TraceID) != 32 || len(spans[0].SpanID) != 16 || spans[1].Parent != "" || spans[1].Kind != 1 ||
			spans[1].Attributes[0].Key != "ahp.turn.id" || spans[0].Start == spans[0].End {
			t.Errorf("%+v", spans)
		}
	})
}

// Metrics are those of /metrics, sent at once to a new follower and then periodically.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, flush := running(t, Limits{})
		tel.Turn("shell", "ok", 3*time.Second)
		tel.Request("ping", "ok")
		var h heard
		defer tel.Follow("ahp-otlp:/metrics", h.deliver)()
		synctest.Wait()
		got := h.all()
		for _, want := range []string{`"name":"ahphub_turn_seconds"`, `"explicitBounds":[0.1,`,
			`"bucketCounts":["0","0","0","1"`, `"aggregationTemporality":2`,
			`"name":"ahphub_ahp_requests_total"`, `"isMonotonic":true`,
			`{"key":"method","value":{"stringValue":"ping"}}`,
			`"asDouble":1`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		flush()
		if h.all() != got {
			t.Error("metrics come with every batch")
		}
		time.Sleep(tel.limits.Metrics)
		synctest.Wait()
		if h.all() == got {
			t.Error("no metrics came later")
		}
	})
}

// Items over the limits are dropped and counted, and block no caller.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, flush := running(t, Limits{Waiting: 10, Batch: 100, Value: 8})
		var h, deaf heard
		deaf.deaf = true
		defer tel.Follow("ahp-otlp:/logs/info", h.deliver)()
		defer tel.Follow("ahp-otlp:/logs/info", deaf.deliver)()
		synctest.Wait()
		log := slog.New(tel.Handler())
		for range 25 {
			log.Info("m", "long", "0123456789")
		}
		flush()
		if got := h.all(); strings.Count(got, `"stringValue":"m"`) != 10 || !strings.Contains(got, `"01234567"`) {
			t.Error(got)
		}
		var metrics heard
		defer tel.Follow("ahp-otlp:/metrics", metrics.deliver)()
		synctest.Wait()
		if got := metrics.all(); !strings.Contains(got, `"asDouble":15`) || !strings.Contains(got, "batches") {
			t.Error("what was dropped is not told:", got)
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, flush := running(t, Limits{})
		tel.Hide("correct-horse-battery")
		var h heard
		defer tel.Follow("ahp-otlp:/logs/", h.deliver)()
		slog.New(tel.Handler()).Info("signed in with correct-horse-battery", "Authorization", "x1", "api_key", "x2",
			"path", "/j?tkn=x3&a=b",
			"err", "401 for Bearer abcdefghijkl", "env", "GITHUB_TOKEN=x4 ", slog.Group("req", "cookie", "x5"), "t",
			"ahp_0123456789abcdef",
			"list", []any{"sk-0123456789abcdef"}, "n_tokens", 5, "kept", "a tokenizer, 3 tokens")
		flush()
		got := h.all()
		for _, secret := range []string{"correct-horse", "x1", "x2", "x3", "x4", "x5", "abcdefghijkl",
			"0123456789abcdef"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s is told: %s", secret, got)
			}
		}
		if !strings.Contains(got, "a=b") || !strings.Contains(got, `"intValue":"5"`) ||
			!strings.Contains(got, "a tokenizer, 3 tokens") {
			t.Error("too much is hidden:", got)
		}
	})
}

func TestChannels(t *testing.T) {
	tel := New(Config{Limits: Limits{Followers: 1}})
	// AHP requirement 201
	if c := tel.Channels(); c.Logs != "ahp-otlp:/logs/{level}" || c.Traces != "ahp-otlp:/traces" ||
		c.Metrics != "ahp-otlp:/metrics" {
		t.Error(c)
	}
	for uri, code := range map[string]int{"ahp-otlp:/logs/Info": 0, "ahp-otlp:/traces": 0,
		"ahp-otlp:/logs/loud":    ahp.CodeInvalidParams,
		"ahp-otlp:/logs/{level}": ahp.CodeInvalidParams, "ahp-otlp:/profiles": ahp.CodeNotFound, "": ahp.CodeNotFound} {
		var e *ahp.Error
		if err := tel.Check(uri); (err == nil) != (code == 0) || errors.As(err, &e) && e.Code != code {
			t.Error(uri, err)
		}
	}
	leave := tel.Follow("ahp-otlp:/traces", (&heard{}).deliver)
	if tel.Check("ahp-otlp:/metrics") == nil {
		t.Error("there is no limit")
	}
	leave()
	if err := tel.Check("ahp-otlp:/metrics"); err != nil {
		t.Error(err)
	}
}

func BenchmarkWithoutFollowers(b *testing.B) {
	tel := New(Config{})
	text := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})
	for name, log := range map[string]*slog.Logger{"log": slog.New(slog.NewMultiHandler(text, tel.Handler())),
		"log-alone": slog.New(text)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				log.Debug("x", "session", "s")
			}
		})
	}
	b.Run("span", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, span := tel.Tracer().Start(b.Context(), "x")
			span.End()
		}
	})
}

func BenchmarkFollowed(b *testing.B) {
	tel := New(Config{Limits: Limits{Waiting: 1 << 30}})
	defer tel.Follow("ahp-otlp:/logs/debug", func(string, []byte) bool { return true })()
	defer tel.Follow("ahp-otlp:/traces", func(string, []byte) bool { return true })()
	log := slog.New(tel.Handler())
	b.Run("log", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			log.Debug("x", "session", "s")
			if i%512 == 511 {
				tel.sendLogs()
			}
		}
	})
	b.Run("span", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, span := tel.Tracer().Start(b.Context(), "x")
			span.SetAttributes(attribute.String("ahp.session.id", "s"))
			span.End()
			if i%512 == 511 {
				tel.sendSpans()
			}
		}
	})
}
