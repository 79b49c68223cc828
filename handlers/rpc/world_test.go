package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/e2e/wire"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(checked{m}) }

// checked fails the package if an endpoint sent frames that its client's version does not allow.
type checked struct{ m *testing.M }

func (c checked) Run() int { return wire.Main(c.m) }

// world is a server with a real hub behind the endpoint.
type world struct {
	t    testing.TB
	hub  *hub.Hub
	host *fake
	end  *Endpoint
	url  string
	dir  string // of the sessions, on a real host
	book wire.Book
}

func newWorld(t testing.TB, cfg Config, hubCfg hub.Config) *world {
	t.Helper()
	w := &world{t: t, hub: hub.New(hubCfg)}
	w.host = newFake(t, w.hub)
	cfg.Host, cfg.Automations, cfg.Terminals, cfg.Files = w.host, w.host, w.host, w.host
	cfg.Hub, cfg.Name, cfg.Version = w.hub, "ahphub", "1.2.3"
	cfg.Limits.Close = 100 * time.Millisecond
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w.end = New(cfg)
	srv := httptest.NewServer(authenticated(w.end))
	w.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(t, w.end.Close(ctx))
		srv.Close()
	})
	return w
}

// authenticated stands in for the web server in front of the endpoint.
func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := principals[r.Header.Get("X-Principal")]; ok {
			r = r.WithContext(access.WithPrincipal(r.Context(), p))
		}
		if end, ok := next.(*Endpoint); ok && r.URL.Path == "/root" {
			next = end.ByProvider()
		}
		next.ServeHTTP(w, r)
	})
}

var principals = map[string]access.Principal{
	"owner": access.Owner("Ana"),
	"guest": {ID: "guest:1", Name: "Bo", Role: access.RoleViewer, Session: sessionURI},
}

// peer is a client of the protocol.
type peer struct {
	t    testing.TB
	ws   *websocket.Conn
	wire *wire.Conn
}

func (w *world) dial(principal string) *peer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	principal, root := strings.CutSuffix(principal, " at root") // a client whose sessions are named by their provider
	url := w.url
	if root {
		url += "/root"
	}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"X-Principal": {principal}}})
	must(w.t, err)
	ws.SetReadLimit(64 << 20)
	w.t.Cleanup(func() { ws.CloseNow() })
	return &peer{w.t, ws, w.book.Conn()}
}

func (p *peer) send(frame string) {
	p.t.Helper()
	p.wire.Sent([]byte(frame))
	must(p.t, p.ws.Write(context.Background(), websocket.MessageText, []byte(frame)))
}

// next reads the next frame within a deadline.
func (p *peer) next() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	kind, b, err := p.ws.Read(ctx)
	if err == nil {
		p.inspect(b)
	}
	if err == nil && kind != websocket.MessageText { // AHP requirement 207
		p.t.Errorf("a frame is a %v: %q", kind, b)
	}
	return b, err
}

// inspect checks a frame against the schema of the version (AHP requirement 22).
func (p *peer) inspect(frame []byte) {
	p.t.Helper()
	err := p.wire.Received(frame)
	if wire.Note(err); err != nil && !errors.Is(err, spec.ErrAbsent) {
		p.t.Error(err)
	}
}

func (p *peer) read() string {
	p.t.Helper()
	b, err := p.next()
	must(p.t, err)
	return string(b)
}

// closed reads until the socket ends and returns its closing code.
func (p *peer) closed() websocket.StatusCode {
	p.t.Helper()
	for {
		if _, err := p.next(); errors.Is(err, context.DeadlineExceeded) {
			p.t.Fatal("the socket is still open")
		} else if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (p *peer) initialize(client string, subscriptions ...string) string {
	p.t.Helper()
	subs, err := json.Marshal(subscriptions)
	must(p.t, err)
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"` +
		client + `","initialSubscriptions":` + string(subs) + `}}`)
	return p.read()
}
