package rpc

import (
	"context"
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
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/mcp/dial"
	"github.com/ahphub/ahphub/hub/store"
)

// realWorld is the program without its pages: store, hub, host and endpoint.
func realWorld(t *testing.T) *world {
	t.Helper()
	return realWorldOf(t, script.Backend{}, Limits{})
}

// realWorldOf has one agent, under the name of the script's.
func realWorldOf(t *testing.T, backend agent.Backend, limits Limits) *world {
	t.Helper()
	limits.Close = 100 * time.Millisecond
	quiet := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, Log: quiet})
	must(t, err)
	boot, err := s.Boot(t.Context())
	must(t, err)
	library := custom.NewLibrary(custom.Limits{}, quiet)
	background(t, library.Run, func() error { return nil })
	var h *host.Host
	w := &world{t: t, dir: t.TempDir(), hub: hub.New(hub.Config{Journal: true, Boot: boot,
		Derive: func(tx *hub.Tx, e *hub.Envelope) { h.Derive(tx, e) }})}
	h, err = host.New(host.Config{Hub: w.hub, Machine: localtest.New(t, dir, local.WithCustoms(library, dial.Dialer{})),
		Store: s, Agents: localtest.ReachAgents(t, map[string]agent.Backend{"script": backend}), DataDir: dir,
		DefaultDir: w.dir, Clients: w})
	must(t, err)
	background(t, func(ctx context.Context) error { return s.Run(ctx, w.hub) }, s.Close)
	must(t, h.Start(t.Context()))
	background(t, h.Run, func() error { return nil })
	w.end = New(Config{Host: h, Automations: h.Automations, Terminals: h.Terminals, Files: h.Files, Hub: w.hub,
		Clients: s, Log: quiet, Limits: limits})
	srv := httptest.NewServer(authenticated(w.end))
	w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	t.Cleanup(func() {
		must(t, w.end.Close(context.Background()))
		srv.Close()
	})
	return w
}

// Ask stands for the wiring of the program: the endpoint is made after the host.
func (w *world) Ask(ctx context.Context, principal, clientID, method string, params, result any) error {
	return w.end.Ask(ctx, principal, clientID, method, params, result)
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

// A client makes a session, prompts, mirrors all of it, disconnects and resumes.
func TestRealHost(t *testing.T) {
	w := realWorld(t)
	const session, first = "ahp-session:/s", "the first message"
	a := newMirror(w.dial("owner"))
	a.initialize("a")
	a.follow(ahp.RootURI, ahp.ChannelRoot)
	a.call("new", "createSession", `{"channel":"`+session+`","provider":"script"}`)
	a.follow(session, ahp.ChannelSession)
	for a.session(session).Lifecycle != ahp.SessionLifecycleReady {
		a.until(func(frame) bool { return true })
	}
	chat := a.session(session).DefaultChat
	a.follow(chat, ahp.ChannelChat)
	prompt := func(m *mirror, n int, text string) {
		m.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"chat/turnStarted",
			"turnId":"turn-%d","startedAt":"2026-01-02T03:04:05.000Z","message":{"text":%q,"origin":{"kind":"user"}}}}}`, chat, n, n, text))
		m.until(func(f frame) bool { return strings.Contains(string(f.Params), `"chat/turnComplete"`) })
	}
	prompt(a, 1, "say "+first)
	prompt(a, 2, "count 50 0")
	a.ws.CloseNow()

	b := &mirror{w.dial("owner"), a.plainStates, a.last}
	if how := b.resume("a"); how != "replay" {
		t.Errorf("resumed by %s", how)
	}
	prompt(b, 3, "say again")
	b.call("list", "listSessions", `{"channel":"ahp-root://"}`)
	b.check(w)
	if s := b.chat(chat); len(s.Turns) != 3 || s.Turns[0].Message.Text != "say "+first {
		t.Errorf("the chat has %d turns", len(s.Turns))
	}

	// A client that asked for the newest turn alone fetches the others.
	c := newMirror(w.dial("owner"))
	c.initialize("c")
	c.followTurns(chat, ahp.ChannelChat, `,"view":{"turns":1}`)
	cursor := c.chat(chat).TurnsNextCursor
	c.call("turns", "fetchTurns", `{"channel":"`+chat+`","cursor":"`+cursor+`"}`)
	c.check(w)
	// adds none twice (AHP requirement 88)
	c.call("again", "fetchTurns", `{"channel":"`+chat+`","cursor":"`+cursor+`"}`)
	c.check(w)
}
