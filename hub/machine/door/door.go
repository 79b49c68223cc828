// Package door lets the agents on a machine reach their hub's tools: an HTTP server on loopback, which forwards an
// agent's requests by their token, only over connections of the agent's session.
package door

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
)

const (
	mostServers = 100 // per session
	mostOpen    = 512 // connections of agents to the door

	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
)

// Config describes a Door.
type Config struct {
	// Reach returns how an agent reaches the tools of a token at the door's address.
	Reach func(base, token string) agent.MCPServer
	Log   *slog.Logger
}

// Door is open to the agents of a computer.
type Door struct {
	cfg      Config
	listener net.Listener
	server   *http.Server
	ended    chan struct{}

	mu sync.Mutex
	by map[key]*sessionProxy
}

// key is the hash of a session proxy's token: its lookup takes no longer for a guess that is nearly
// right.
type key [sha256.Size]byte

// sessionProxy forwards the requests of one session to the hub.
type sessionProxy struct {
	ctx   context.Context
	proxy *httputil.ReverseProxy
}

// Open opens a door. The caller must close it.
func Open(cfg Config) (*Door, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("agents cannot reach the hub's tools: %w", err)
	}
	d := &Door{cfg: cfg, listener: listener, ended: make(chan struct{}), by: map[key]*sessionProxy{}}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug)}
	go func() {
		defer close(d.ended)
		_ = d.server.Serve(&bounded{listener, make(chan struct{}, mostOpen)}) // it ends by Close
	}()
	return d, nil
}

// Port returns the loopback port of the door.
func (d *Door) Port() int { return d.listener.Addr().(*net.TCPAddr).Port }

func (d *Door) Close() {
	_ = d.server.Close() // ends its connections
	<-d.ended
}

// Add opens the door to an agent, over connections that dial makes, until ctx ends. It returns how the agent reaches
// each of its servers.
func (d *Door) Add(ctx context.Context, servers []agent.MCPServer, dial func(context.Context) (net.Conn, error)) (
	[]agent.MCPServer, error) {
	if len(servers) > mostServers {
		return nil, fmt.Errorf("%d servers are more than any session has", len(servers))
	}
	transport := &http.Transport{IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 4, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	w := &sessionProxy{ctx: ctx, proxy: &httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite: rewrite, ErrorLog: slog.NewLogLogger(d.cfg.Log.Handler(), slog.LevelDebug), ErrorHandler: refuse}}
	var keys []key
	out := make([]agent.MCPServer, 0, len(servers))
	for _, s := range servers {
		token, ok := TokenOf(s)
		if !ok {
			return nil, errors.New("a server of the hub has no token")
		}
		reached := d.cfg.Reach("http://"+d.listener.Addr().String(), token)
		reached.Name = s.Name
		keys, out = append(keys, sha256.Sum256([]byte(token))), append(out, reached)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		d.by[k] = w
	}
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		for _, k := range keys {
			if d.by[k] == w {
				delete(d.by, k)
			}
		}
		d.mu.Unlock()
		transport.CloseIdleConnections()
	})
	return out, nil
}

// TokenOf returns the token of one of the hub's servers.
func TokenOf(s agent.MCPServer) (string, bool) {
	token, ok := strings.CutPrefix(s.Headers["Authorization"], "Bearer ")
	return token, ok && token != ""
}

// ServeHTTP forwards a request to the hub of its token.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, isToken := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	d.mu.Lock()
	to := d.by[sha256.Sum256([]byte(token))]
	d.mu.Unlock()
	if !isToken || to == nil || to.ctx.Err() != nil {
		http.Error(w, "This token is invalid. An agent's token expires with its session.", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(to.ctx, func() { cancel(context.Cause(to.ctx)) })()
	to.proxy.ServeHTTP(w, r.WithContext(ctx))
}

func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = "http", "hub"
	r.Out.Host = "localhost"
}

// refuse answers a request that did not reach the hub.
func refuse(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, "The hub could not be asked: "+err.Error()+". Try again.", http.StatusBadGateway)
}

// bounded is a listener that limits open connections; further ones wait.
type bounded struct {
	net.Listener
	seats chan struct{}
}

// Accept waits for a seat and a connection.
func (b *bounded) Accept() (net.Conn, error) {
	b.seats <- struct{}{}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.seats
		return nil, err
	}
	return &seated{Conn: conn, leave: sync.OnceFunc(func() { <-b.seats })}, nil
}

type seated struct {
	net.Conn
	leave func()
}

// Close closes the connection and frees its seat.
func (s *seated) Close() error {
	defer s.leave()
	return s.Conn.Close()
}
