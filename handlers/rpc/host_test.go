package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/store"
)

// realWorld is the program without its pages: store, hub, host and endpoint.
func realWorld(t *testing.T) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, Log: quiet})
	must(t, err)
	boot, err := s.Boot(t.Context())
	must(t, err)
	var h *host.Host
	w := &world{t: t, hub: hub.New(hub.Config{Journal: true, Boot: boot, Derive: func(tx *hub.Tx, e *hub.Envelope) { h.Derive(tx, e) }})}
	h, err = host.New(host.Config{Hub: w.hub, Store: s, Agents: map[string]agent.Backend{"script": script.Backend{}}, DataDir: dir, DefaultDir: t.TempDir()})
	must(t, err)
	background(t, func(ctx context.Context) error { return s.Run(ctx, w.hub) }, s.Close)
	must(t, h.Start(t.Context()))
	background(t, h.Run, func() error { return nil })
	w.end = Handler(Config{Host: shim{h}, Hub: w.hub, Clients: s, Log: quiet, Limits: Limits{Close: 100 * time.Millisecond}})
	srv := httptest.NewServer(authenticated(w.end))
	w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	t.Cleanup(func() {
		must(t, w.end.Close(context.Background()))
		srv.Close()
	})
	return w
}

// background runs a part until the test ends, waits for it, and closes it.
func background(t *testing.T, run func(context.Context) error, closing func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
		must(t, closing())
	})
}

// mirror reduces what a client is sent, as a client does.
type mirror struct {
	*peer
	kinds  map[ahp.URI]ahp.ChannelKind
	states map[ahp.URI]ahp.State
	last   int64
}

// until reads frames, mirrors them, and returns the first that ok takes.
func (m *mirror) until(ok func(frame) bool) frame {
	m.t.Helper()
	for {
		var f frame
		raw := m.read()
		if err := ahp.Unmarshal([]byte(raw), &f); err != nil {
			m.t.Fatalf("%s: %v", raw, err)
		}
		if f.Method == "action" {
			m.apply(f.Params)
		}
		if f.Error != nil {
			m.t.Fatalf("%s", raw)
		}
		if ok(f) {
			return f
		}
	}
}

type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m *mirror) apply(raw []byte) {
	var e ahp.ActionEnvelope
	must(m.t, ahp.Unmarshal(raw, &e))
	if e.ServerSeq <= m.last {
		m.t.Fatalf("serverSeq %d after %d: %s", e.ServerSeq, m.last, raw)
	}
	m.last = e.ServerSeq
	if s := m.states[e.Channel]; s != nil && e.RejectionReason == "" {
		m.states[e.Channel] = ahp.Reduce(s, e.Action)
	}
}

func (m *mirror) call(id, method, params string) json.RawMessage {
	m.t.Helper()
	m.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":` + params + `}`)
	return m.until(func(f frame) bool { return string(f.ID) == `"`+id+`"` }).Result
}

func (m *mirror) follow(uri ahp.URI, kind ahp.ChannelKind) {
	m.t.Helper()
	var r ahp.SubscribeResult
	must(m.t, ahp.Unmarshal(m.call("sub "+uri, "subscribe", `{"channel":"`+uri+`"}`), &r))
	must(m.t, r.Snapshot.Decode(kind))
	m.states[uri], m.kinds[uri] = r.Snapshot.State, kind
}

// check compares each mirror with a fresh snapshot.
func (m *mirror) check(w *world) {
	m.t.Helper()
	fresh := &mirror{w.dial("owner"), map[ahp.URI]ahp.ChannelKind{}, map[ahp.URI]ahp.State{}, 0}
	fresh.initialize("fresh")
	for uri, kind := range m.kinds {
		fresh.follow(uri, kind)
		got, err := ahp.Marshal(m.states[uri])
		must(m.t, err)
		want, err := ahp.Marshal(fresh.states[uri])
		must(m.t, err)
		if string(got) != string(want) {
			m.t.Errorf("%s is mirrored as\n%s\nand is\n%s", uri, got, want)
		}
	}
}

// A client makes a session, prompts, mirrors all of it, drops and comes back.
func TestARealHost(t *testing.T) {
	w := realWorld(t)
	const session, first = "ahp-session:/s", "the first message"
	a := &mirror{w.dial("owner"), map[ahp.URI]ahp.ChannelKind{}, map[ahp.URI]ahp.State{}, 0}
	a.initialize("a")
	a.follow(ahp.RootURI, ahp.ChannelRoot)
	a.call("new", "createSession", `{"channel":"`+session+`","provider":"script"}`)
	a.follow(session, ahp.ChannelSession)
	for a.states[session].(*ahp.SessionState).Lifecycle != ahp.SessionLifecycleReady {
		a.until(func(frame) bool { return true })
	}
	chat := a.states[session].(*ahp.SessionState).DefaultChat
	a.follow(chat, ahp.ChannelChat)
	prompt := func(m *mirror, n int, text string) {
		m.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnStarted",
			"turnId":"turn-%d","startedAt":"2026-01-02T03:04:05.000Z","message":{"text":%q,"origin":{"kind":"user"}}}}}`, chat, n, n, text))
		m.until(func(f frame) bool { return strings.Contains(string(f.Params), `"chat/turnComplete"`) })
	}
	prompt(a, 1, "say "+first)
	prompt(a, 2, "count 50 0")
	a.ws.CloseNow()

	b := &mirror{w.dial("owner"), a.kinds, a.states, a.last}
	b.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"a","lastSeenServerSeq":%d,"subscriptions":[%q,%q,%q]}}`,
		a.last, ahp.RootURI, session, chat))
	back := b.until(func(f frame) bool { return string(f.ID) == "1" })
	var replay ahp.ReconnectResult
	must(t, ahp.Unmarshal(back.Result, &replay))
	r, ok := replay.Value.(*ahp.ReconnectReplayResult)
	if !ok || len(r.Missing) != 0 {
		t.Fatalf("resumed by %s", back.Result)
	}
	for _, e := range r.Actions {
		raw, err := ahp.Marshal(e)
		must(t, err)
		b.apply(raw)
	}
	prompt(b, 3, "say again")
	b.call("list", "listSessions", `{"channel":"ahp-root://"}`)
	b.check(w)
	if s := b.states[chat].(*ahp.ChatState); len(s.Turns) != 3 || s.Turns[0].Message.Text != "say "+first {
		t.Errorf("the chat has %d turns", len(s.Turns))
	}
}

type shim struct{ *host.Host }

func (shim) InvokeChangesetOperation(context.Context, host.Caller, ahp.InvokeChangesetOperationParams) (ahp.InvokeChangesetOperationResult, error) {
	return ahp.InvokeChangesetOperationResult{}, nil
}
