// Package peer is an AHP client for tests and load that mirrors its subscriptions. It shares no
// state code with the server except the protocol's reducers, applies its own actions
// optimistically, and records every violation of the delivery rules.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/e2e/wire"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Options of a peer. The zero value is an anonymous client.
type Options struct {
	Token    string       // sent as a bearer token
	Cookie   string       // sent as the Cookie header
	ClientID string       // "peer" when empty
	Header   http.Header  // further headers of the upgrade
	HTTP     *http.Client // connects; http.DefaultClient when nil
	Versions []string     // offered protocol versions; if empty, the one that this program models

	Kind  func(ahp.URI) ahp.ChannelKind // returns the kind of a channel; default: KindOf
	Trust bool                          // for benchmarks: frames are not checked, and hub/ahp reduces them
	// Serve answers the host's requests, on the reading goroutine; nil: this client offers no
	// methods.
	Serve   func(method string, params json.RawMessage) (any, *ahp.Error)
	OnFrame func(frame []byte) // called with every frame from the host before it is applied, on the reading goroutine
}

// Notification is a message from the host that is not an action.
type Notification struct {
	Method string
	Params json.RawMessage
}

// ErrClosed is returned after the connection ended, until Reconnect.
var ErrClosed = errors.New("peer: the connection is closed")

const (
	maxFrame         = 64 << 20
	keptNotification = 1000
	keptViolations   = 100
)

// Peer is one client of a host. Its methods may be called from several goroutines.
type Peer struct {
	url  string
	opts Options

	book wire.Book

	mu            sync.Mutex
	watch         *wire.Conn // nil when the host is trusted
	conn          *websocket.Conn
	readerDone    chan struct{}
	abandoned     bool  // a reconnect on this connection was abandoned
	closed        error // why there is no connection
	nextID        int64
	calls         map[int64]*call
	mirrors       map[ahp.URI]*mirror
	lastSeq       int64  // the highest number seen, over all connections
	connSeq       int64  // the last number seen on this one
	version       string // the version selected by the host
	clientSeq     int64
	pending       []pending
	changed       chan struct{} // closed and replaced at each frame
	notifications []Notification
	violations    []string
	frames        int
	freshCount    int
}

// pending is a sent action without an answer.
type pending struct {
	channel ahp.URI
	seq     int64
	action  ahp.Action
}

// Dial opens a connection. It sends nothing before Initialize.
func Dial(ctx context.Context, rawURL string, opts Options) (*Peer, error) {
	if opts.ClientID == "" {
		opts.ClientID = "peer"
	}
	if opts.Kind == nil {
		opts.Kind = KindOf
	}
	if len(opts.Versions) == 0 {
		opts.Versions = []string{ahp.Version}
	}
	p := &Peer{
		url: rawURL, opts: opts, closed: ErrClosed,
		version: opts.Versions[0],
		calls:   map[int64]*call{}, mirrors: map[ahp.URI]*mirror{}, changed: make(chan struct{}),
	}
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Peer) connect(ctx context.Context) error {
	header := p.opts.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if p.opts.Token != "" {
		header.Set("Authorization", "Bearer "+p.opts.Token)
	}
	if p.opts.Cookie != "" {
		header.Set("Cookie", p.opts.Cookie)
	}
	conn, res, err := websocket.Dial(ctx, wsURL(p.url), &websocket.DialOptions{HTTPHeader: header,
		HTTPClient: p.opts.HTTP})
	if err != nil {
		if res != nil {
			return fmt.Errorf("peer: the host answered the upgrade with %s: %w", res.Status, err)
		}
		return fmt.Errorf("peer: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	done := make(chan struct{})
	p.mu.Lock()
	p.conn, p.closed, p.connSeq, p.readerDone, p.abandoned = conn, nil, 0, done, false
	if !p.opts.Trust {
		p.watch = p.book.Conn()
		p.watch.Kind = p.opts.Kind
	}
	watch := p.watch
	p.mu.Unlock()
	go func() {
		defer close(done)
		p.read(conn, watch)
	}()
	return nil
}

// wsURL also accepts http addresses, like those of test servers.
func wsURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	return u.String()
}

// Close closes the connection and waits for the reader to end.
func (p *Peer) Close() error {
	return p.end(func(c *websocket.Conn) error { return c.Close(websocket.StatusNormalClosure, "") })
}

// Drop closes the TCP connection abruptly, like a network failure.
func (p *Peer) Drop() { _ = p.end((*websocket.Conn).CloseNow) }

func (p *Peer) end(how func(*websocket.Conn) error) error {
	p.mu.Lock()
	conn, done := p.conn, p.readerDone
	p.conn = nil
	p.mu.Unlock()
	if conn == nil {
		return nil
	}
	err := how(conn)
	<-done
	return err
}

// KindOf returns the kind of a channel from its URI as spelled by this program and the
// specification.
func KindOf(uri ahp.URI) ahp.ChannelKind { return wire.KindOf(uri) }
