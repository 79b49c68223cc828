package rpc

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// telling is a world with telemetry.
func telling(t *testing.T) (*world, *slog.Logger) {
	t.Helper()
	tel := telemetry.New(telemetry.Config{Version: "1",
		Limits: telemetry.Limits{Every: time.Millisecond, Metrics: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); tel.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	log := slog.New(tel.Handler())
	return newWorld(t, Config{Telemetry: tel, Tracer: tel.Tracer(), Count: tel.Request, Log: log}, hub.Config{}), log
}

const subscribeTo = `{"jsonrpc":"2.0","id":7,"method":"subscribe","params":{"channel":"%"}}`

func subscribeFrame(uri string) string { return strings.Replace(subscribeTo, "%", uri, 1) }

// Telemetry is advertised as templates, subscribe answers {}, and batches name the channel as subscribed (AHP
// requirements 201 to 203, and 25: stateless channels answer {}).
func TestTelemetry(t *testing.T) {
	w, log := telling(t)
	p := w.dial("owner")
	if got := p.initialize("a"); !strings.Contains(got,
		`"telemetry":{"logs":"ahp-otlp:/logs/{level}","traces":"ahp-otlp:/traces","metrics":"ahp-otlp:/metrics"}`) {
		t.Fatal(got)
	}
	p.send(subscribeFrame("ahp-otlp:/logs/warn"))
	must(t, match(`{"jsonrpc":"2.0","id":7,"result":{}}`, []byte(p.read())))
	log.Info("too quiet")
	log.Warn("heard", "session", sessionURI)
	got := p.read()
	if !strings.HasPrefix(got,
		`{"jsonrpc":"2.0","method":"otlp/exportLogs","params":{"channel":"ahp-otlp:/logs/warn","payload":{"resourceLogs":`) ||
		!strings.Contains(got, `"heard"`) || strings.Contains(got, "too quiet") {
		t.Fatal(got)
	}
	p.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-otlp:/logs/warn"}}`)
	p.send(subscribeFrame("ahp-otlp:/logs/loud"))
	must(t, p.find(`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"...":0}}`))
	log.Error("after it left")

	p.send(subscribeFrame("ahp-otlp:/traces"))
	must(t, p.find(`{"jsonrpc":"2.0","id":7,"result":{}}`))
	p.send(`{"jsonrpc":"2.0","id":8,"method":"fetchTurns","params":{"channel":"` + chatURI + `"}}`)
	for {
		got := p.read()
		if strings.Contains(got, "after it left") {
			t.Fatal("a channel that was left is heard: ", got)
		}
		if strings.Contains(got, `"name":"fetchTurns"`) { // AHP requirement 204
			if !strings.Contains(got, `{"key":"ahp.session.id","value":{"stringValue":"`+sessionURI+`"}}`) {
				t.Error(got)
			}
			break
		}
	}
	p.send(subscribeFrame("ahp-otlp:/metrics"))
	must(t, p.find(`{"jsonrpc":"2.0","method":"otlp/exportMetrics","params":{"channel":"ahp-otlp:/metrics","payload":{"resourceMetrics":"*"}}}`))
}

// Nothing is replayed, and the subscription continues (AHP requirements 46 and 205).
func TestTelemetryReconnect(t *testing.T) {
	w, log := telling(t)
	p := w.dial("owner")
	p.initialize("a", "ahp-root://", "ahp-otlp:/logs/info")
	log.Info("one")
	for !strings.Contains(p.read(), `"one"`) {
	}
	p.ws.CloseNow()
	p = w.dial("owner")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"a","lastSeenServerSeq":0,"subscriptions":["ahp-root://","ahp-otlp:/logs/info"]}}`)
	must(t, match(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[]}}`, []byte(p.read())))
	log.Info("two")
	for {
		got := p.read()
		if strings.Contains(got, `"one"`) {
			t.Fatal("what was sent before is sent again: ", got)
		}
		if strings.Contains(got, `"two"`) {
			return
		}
	}
}

// The log names every session: only the owner gets it, and guests do not learn that it exists.
func TestTelemetryIsForOwner(t *testing.T) {
	w, log := telling(t)
	p := w.dial("guest")
	if got := p.initialize("g", "ahp-otlp:/logs/trace"); strings.Contains(got, "telemetry") {
		t.Fatal(got)
	}
	for _, uri := range []string{"ahp-otlp:/logs/trace", "ahp-otlp:/traces", "ahp-otlp:/metrics"} {
		p.send(subscribeFrame(uri))
		must(t, match(`{"jsonrpc":"2.0","id":7,"error":{"code":-32009,"message":"*"}}`, []byte(p.read())))
	}
	log.Error("canary")
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"channel":"ahp-root://"}}`)
	must(t, match(`{"jsonrpc":"2.0","id":9,"result":null}`, []byte(p.read())))
}

// A slow reader loses batches, not the connection; the host does not wait for it.
func TestTelemetryOfSlowReader(t *testing.T) {
	w, log := telling(t)
	p := w.dial("owner")
	p.initialize("a", "ahp-otlp:/logs/info")
	long := strings.Repeat("x", 4000)
	for range 5_000 { // 20 MB: more than all buffers
		log.Info(long)
	}
	log.Info("the end")
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"channel":"ahp-root://"}}`)
	must(t, p.find(`{"jsonrpc":"2.0","id":9,"result":null}`))
}
