package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/store"
)

func TestAuthentication(t *testing.T) { // AHP requirements 208 and 209
	w := newWorld(t, Config{Origins: []string{"hub.example.com"}}, hub.Config{})
	cases := []struct {
		name   string
		header http.Header
		status int
	}{
		{"nobody", http.Header{}, http.StatusUnauthorized},
		{"a token, from no page", http.Header{"X-Principal": {"owner"}}, 101},
		{"a token, from any page", http.Header{"X-Principal": {"owner"}, "Origin": {"https://elsewhere.example.com"}},
			101},
		{"a cookie, from no page", http.Header{"X-Principal": {"owner"}, "Cookie": {"s=1"}}, 101},
		{"a cookie, from our page", http.Header{"X-Principal": {"owner"}, "Cookie": {"s=1"},
			"Origin": {"http" + strings.TrimPrefix(w.url, "ws")}}, 101},
		{"a cookie, from the public address",
			http.Header{"X-Principal": {"owner"}, "Cookie": {"s=1"}, "Origin": {"https://hub.example.com"}}, 101},
		{"a cookie, from another's page", http.Header{"X-Principal": {"owner"}, "Cookie": {"s=1"},
			"Origin": {"https://elsewhere.example.com"}}, http.StatusForbidden},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ws, res, err := websocket.Dial(t.Context(), w.url, &websocket.DialOptions{HTTPHeader: c.header})
			if err == nil {
				ws.CloseNow()
			}
			if res == nil || res.StatusCode != c.status {
				t.Errorf("got %v, %v, want %d", res, err, c.status)
			}
		})
	}
}

func TestSocketEnds(t *testing.T) { // AHP requirements 207 and 209
	const silent = "when nothing is said"
	cases := []struct {
		name string
		do   func(w *world, p *peer)
		code websocket.StatusCode
	}{
		{silent, func(*world, *peer) {}, websocket.StatusPolicyViolation},
		{"on a binary frame", func(w *world, p *peer) {
			must(w.t, p.ws.Write(context.Background(), websocket.MessageBinary, []byte("{}")))
		}, websocket.StatusUnsupportedData},
		{"on a frame over the limit", func(w *world, p *peer) { p.send(strings.Repeat(" ", 2000)) },
			websocket.StatusMessageTooBig},
		{"when the host stops", func(w *world, p *peer) {
			p.initialize("a")
			go w.end.Close(context.Background())
		}, websocket.StatusGoingAway},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limits := Limits{FrameBytes: 1000, Handshake: time.Hour}
			if c.name == silent {
				limits.Handshake = 50 * time.Millisecond
			}
			w := newWorld(t, Config{Limits: limits}, hub.Config{})
			p := w.dial("owner")
			c.do(w, p)
			if got := p.closed(); got != c.code {
				t.Errorf("closed with %d, want %d", got, c.code)
			}
		})
	}
}

func TestCloseRefusesConnections(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	must(t, w.end.Close(t.Context()))
	_, res, err := websocket.Dial(t.Context(), w.url,
		&websocket.DialOptions{HTTPHeader: http.Header{"X-Principal": {"owner"}}})
	if err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %v, %v", res, err)
	}
}

// A revoked link ends the context of its requests, and so their sockets.
func TestSocketEndsWithItsRequest(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	revoked, revoke := context.WithCancelCause(context.Background())
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(access.WithPrincipal(r.Context(), principals["guest"]))
		defer cancel()
		defer context.AfterFunc(revoked, cancel)()
		w.end.ServeHTTP(rw, r.WithContext(ctx))
	}))
	defer srv.Close()
	w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	p := w.dial("")
	p.initialize("g", sessionURI)
	revoke(errors.New("the link was revoked"))
	p.closed()
	eventually(t, func() bool { return w.end.Sockets() == 0 })
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	if !slices.Contains(w.host.seen, "g disconnected") {
		t.Errorf("the host heard %q", w.host.seen)
	}
}

func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not so after 10 s")
		}
	}
}

// The host is notified of clients that leave, but not of one whose newer socket took over.
func TestNotifyHostOfLeavingClients(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	first := w.dial("owner")
	first.initialize("a")
	second := w.dial("owner")
	second.send(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"a","lastSeenServerSeq":0,"subscriptions":["ahp-session:/1"]}}`)
	second.read()
	first.closed()
	second.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-session:/1"}}`)
	second.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	second.read()
	second.ws.Close(websocket.StatusNormalClosure, "")
	eventually(t, func() bool { return w.end.Sockets() == 0 })
	want := []string{"a reconnected ahp-session:/1", "a unsubscribed ahp-session:/1", "a disconnected"}
	if !slices.Equal(w.host.seen, want) {
		t.Errorf("the host heard %q, want %q", w.host.seen, want)
	}
}

// A slow request delays neither others nor the end of the socket.
func TestSlowRequestsRunConcurrently(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	p := w.dial("owner")
	p.initialize("a")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"file:///slow"}}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"file:///quick"}}`)
	if got := p.read(); !strings.Contains(got, "quick") {
		t.Errorf("got %s", got)
	}
	w.host.hold <- struct{}{}
	if got := p.read(); !strings.Contains(got, "slow") {
		t.Errorf("got %s", got)
	}
	p.send(`{"jsonrpc":"2.0","id":3,"method":"resourceRead","params":{"channel":"ahp-root://","uri":"file:///slow"}}`)
	must(t, w.end.Close(t.Context())) // waits for the request, which its context ends
}

// Promise 4: a stalled reader costs bounded memory, slows no other, is closed, and resumes.
func TestStalledReaderIsClosedAndResumes(t *testing.T) { // AHP requirement 209
	w := newWorld(t, Config{Limits: Limits{Write: 2 * time.Second}},
		hub.Config{Limits: hub.Limits{QueueBytes: 1 << 20}})
	stalled, reader := w.dial("owner"), w.dial("owner")
	stalled.initialize("stalled", chatURI)
	reader.initialize("reader", chatURI)
	big := strings.Repeat("x", 100_000)
	sent := 0
	for w.end.Sockets() == 2 && sent < 1000 { // until the kernel's buffers for the stalled peer are full
		must(t, w.hub.Do(func(tx *hub.Tx) {
			tx.Apply(chatURI, &ahp.ChatDeltaAction{TurnID: "t4", PartID: "p", Content: big})
		}))
		sent++
		if got := reader.read(); !strings.Contains(got, fmt.Sprintf(`"serverSeq":%d}`, sent)) {
			t.Fatalf("the other reader got %.200s… of %d bytes", got, len(got))
		}
	}
	eventually(t, func() bool { return w.end.Sockets() == 1 })
	again := w.dial("owner")
	again.send(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"stalled","lastSeenServerSeq":0,"subscriptions":["ahp-chat:/1"]}}`)
	var got struct {
		Result struct {
			Type      string
			Snapshots []struct{ FromSeq int64 }
		}
	}
	must(t, json.Unmarshal([]byte(again.read()), &got))
	if got.Result.Type != "snapshot" || got.Result.Snapshots[0].FromSeq != int64(sent) {
		t.Errorf("resumed by %+v after %d actions", got.Result, sent)
	}
}

// A client that sends requests and does not read answers is closed, so that memory is bounded.
func TestUnreadAnswersAreBounded(t *testing.T) {
	w := newWorld(t, Config{Limits: Limits{AnswerBytes: 1 << 20}}, hub.Config{})
	p := w.dial("owner")
	p.initialize("a")
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resourceRead","params":{"channel":"ahp-root://","uri":%q}}`,
		strings.Repeat("x", 200_000))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2000 {
		if p.ws.Write(ctx, websocket.MessageText, []byte(request)) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		t.Fatal("the host takes requests without end")
	}
	eventually(t, func() bool { return w.end.Sockets() == 0 })
}

func TestDetectLostPeer(t *testing.T) {
	t.Parallel()
	// time limit for answering a ping
	w := newWorld(t, Config{Limits: Limits{Ping: 1500 * time.Millisecond}}, hub.Config{})
	alive, gone := w.dial("owner"), w.dial("owner")
	alive.initialize("alive")
	gone.initialize("gone") // reads no more, so it answers no ping
	read := make(chan error)
	go func() {
		_, err := alive.next()
		read <- err
	}()
	eventually(t, func() bool { return w.end.Sockets() == 1 })
	alive.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	must(t, <-read)
}

// Frames of one batch share a system call.
func TestBatchNeedsFewWrites(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	var writes atomic.Int64
	srv := httptest.NewUnstartedServer(authenticated(w.end))
	srv.Listener = countingListener{srv.Listener, &writes}
	srv.Start()
	defer srv.Close()
	w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	p := w.dial("owner")
	p.initialize("a", termURI)
	before := writes.Load()
	const frames = 60 // fewer than are merged
	must(t, w.hub.Do(func(tx *hub.Tx) {
		for range frames {
			tx.Apply(termURI, &ahp.TerminalDataAction{Data: "x"})
		}
	}))
	for range frames {
		p.read()
	}
	if got := writes.Load() - before; got > frames/2 { // on a busy computer, frames leave before the rest is queued
		t.Errorf("%d frames took %d writes", frames, got)
	}
	p.ws.CloseNow()
}

type countingListener struct {
	net.Listener
	writes *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// An internal cause is logged under the id that the client gets, and appears nowhere else.
func TestCausesStayInTheLog(t *testing.T) {
	var log syncBuffer
	w := newWorld(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, hub.Config{})
	p := w.dial("owner")
	p.initialize("a")
	for _, provider := range []string{"panic", "fail"} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"createSession","params":{"channel":"ahp-session:/9","provider":"` +
			provider + `"}}`)
		answer := p.read()
		var got struct {
			Error struct{ Data struct{ ID string } }
		}
		must(t, json.Unmarshal([]byte(answer), &got))
		if strings.Contains(answer, "secret") || got.Error.Data.ID == "" ||
			!strings.Contains(log.String(), got.Error.Data.ID) {
			t.Errorf("%s is answered by %s, logged is %s", provider, answer, log.String())
		}
	}
	if !strings.Contains(log.String(), "secret cause") {
		t.Errorf("the cause is not in the log: %s", log.String())
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A client resumes after a restart of the host, from the store's record.
func TestReconnectAcrossRestart(t *testing.T) {
	dir := t.TempDir()
	seen := int64(0)
	life := func(play func(w *world, p *peer)) {
		s, err := store.Open(t.Context(), store.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		boot, err := s.Boot(t.Context())
		must(t, err)
		w := &world{t: t, hub: hub.New(hub.Config{Journal: true, Boot: boot})}
		if w.host = (&fake{hub: w.hub}); len(boot.Channels) == 0 {
			w.host = newFake(t, w.hub)
		}
		for _, c := range boot.Channels {
			must(t, w.hub.Ensure(t.Context(), s, c.URI))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx, w.hub) }()
		w.end = New(Config{Host: w.host, Automations: w.host, Terminals: w.host, Files: w.host, Hub: w.hub, Clients: s,
			Limits: Limits{Close: 100 * time.Millisecond},
			Log:    slog.New(slog.DiscardHandler)})
		srv := httptest.NewServer(authenticated(w.end))
		w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
		play(w, w.dial("owner"))
		must(t, w.end.Close(t.Context()))
		srv.Close()
		cancel()
		must(t, <-done)
	}
	life(func(w *world, p *peer) {
		p.initialize("a", chatURI)
		must(t, w.act([]string{"delta", "one", "two"}))
		p.read()
		p.read()
		seen = 1
	})
	life(func(w *world, p *peer) {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"a","lastSeenServerSeq":` +
			fmt.Sprint(seen) + `,"subscriptions":["ahp-chat:/1"]}}`)
		if got := p.read(); !strings.Contains(got, `"type":"replay"`) || !strings.Contains(got, `"content":"two"`) ||
			strings.Contains(got, `"content":"one"`) {
			t.Errorf("resumed by %s", got)
		}
	})
}
