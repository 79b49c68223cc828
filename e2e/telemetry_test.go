package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// The owner's client follows the host's telemetry: its log, spans of requests, turns, calls and
// agents, and the metrics of /metrics (AHP requirements 201 to 204).
func TestTelemetryOfTheProgram(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	var told strings.Builder
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token(), ClientID: uuid.NewString(),
		OnFrame: func(b []byte) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(string(b), `"otlp/export`) {
				told.Write(b)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	hello, err := p.Initialize(ctx, ahp.RootURI)
	if err != nil || hello.Telemetry == nil {
		t.Fatal(err, hello)
	}
	for _, uri := range []ahp.URI{strings.Replace(hello.Telemetry.Logs, "{level}", "debug", 1),
		hello.Telemetry.Traces} {
		if err := p.Subscribe(ctx, uri); err != nil {
			t.Fatal(err)
		}
	}
	session := newOverProtocol(t, ctx, p)
	chat := p.State(session).(*ahp.SessionState).DefaultChat
	if err := p.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	turn := &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), Message: ahp.Message{Text: "say a secret thing",
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	if _, err := p.Dispatch(ctx, chat, turn); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(ctx, func() bool { return len(p.State(chat).(*ahp.ChatState).Turns) == 1 }); err != nil {
		t.Fatal(err)
	}
	if status, _ := prog.Get("/healthz"); status != 200 { // a request to be logged and counted
		t.Fatal(status)
	}
	if err := p.Subscribe(ctx, hello.Telemetry.Metrics); err != nil {
		t.Fatal(err)
	}
	has := func(wants ...string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			for _, w := range wants {
				if !strings.Contains(told.String(), w) {
					return false
				}
			}
			return true
		}
	}
	if err := p.Wait(ctx, has(`"otlp/exportLogs"`, `"name":"createSession"`, `"name":"dispatchAction"`,
		`"name":"agent start"`, `"name":"turn"`, `{"key":"ahp.session.id","value":{"stringValue":"`+session+`"}}`,
		`{"key":"ahp.turn.id","value":{"stringValue":"`+turn.TurnID+`"}}`,
		`"name":"ahphub_turn_seconds"`, `"name":"ahphub_http_requests_total"`,
		`"name":"ahphub_server_seq"`)); err != nil {
		t.Fatalf("%v\n%.20000s", err, told.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(told.String(), prog.Token()) || strings.Contains(told.String(), "a secret thing") {
		t.Error("telemetry tells a token, or what was said")
	}
	if v := p.Violations(); len(v) > 0 {
		t.Error(v)
	}
}
