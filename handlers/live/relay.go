package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/quota"
)

// RelayConfig configures a Relay.
type RelayConfig struct {
	Transport http.RoundTripper // to nodes, by name
	TrunkPath string            // path of ServeTrunk at the leader
	Header    string            // header with the name of a grant, for WithGrant
	Public    string            // as in Config
	Frames    *quota.Pool       // as in Config
	Heartbeat Heartbeat
}

// Relay serves streams of rooms that the leader renders. One connection brings the frames of each room
// once, however many visitors of this node watch it.
type Relay struct {
	cfg RelayConfig

	mu   sync.Mutex
	dial *dialing // the newest one
}

// dialing lets visitors wait for a connection that another one is opening.
type dialing struct {
	leader string
	done   chan struct{}
	trunk  *farTrunk
	err    error
}

// NewRelay returns a relay without a connection.
func NewRelay(cfg RelayConfig) *Relay {
	cfg.Heartbeat = cfg.Heartbeat.withDefaults()
	return &Relay{cfg: cfg}
}

var (
	// ErrNoTrunk reports that the leader's release has no trunks. Streams are passed on to it instead.
	ErrNoTrunk = errors.New("the leader takes no connection for streams")

	errTrunkEnded = errors.New("the connection to the leader has ended")
	errRoomEnded  = errors.New("the room has ended before its stream began")
)

const (
	trunkTimeout = 10 * time.Second // for opening a trunk, and for the answer about a visitor
	mostAnswer   = 64 << 10         // bytes of that answer
	mostFarSize  = 64 << 20         // bytes of a frame
)

// Serve serves the stream of a visitor from rooms of the leader, until tenure ends. ask is the visitor's
// request as the leader is to receive it. When the leader refuses the visitor, Serve returns its answer.
// After an error, w is unused.
func (y *Relay) Serve(w http.ResponseWriter, r, ask *http.Request, leader string, tenure context.Context) (*http.Response,
	error) {
	ctx, cancel := context.WithTimeout(r.Context(), trunkTimeout)
	defer cancel()
	t, err := y.trunkTo(ctx, leader, tenure)
	if err != nil {
		return nil, err
	}
	g, err := t.admit()
	if err != nil {
		return nil, err
	}
	ask = ask.WithContext(ctx)
	ask.Header.Set(y.cfg.Header, fmt.Sprintf("%s.%d", t.name, g.id))
	res, err := y.cfg.Transport.RoundTrip(ask)
	if err != nil {
		g.End()
		return nil, errors.Join(errTrunkEnded, err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	_ = res.Body.Close()
	if err != nil {
		g.End()
		return nil, errors.Join(errTrunkEnded, err)
	}
	if res.StatusCode != http.StatusOK {
		g.forget()
		res.Body = io.NopCloser(bytes.NewReader(body))
		return res, nil
	}
	var answer grantAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		g.End()
		return nil, err
	}
	readers, err := y.readers(t, g, r.URL.Query()["f"], answer)
	if err != nil {
		g.End()
		return nil, err
	}
	y.serveStream(w, r, g, readers)
	return nil, nil
}

// readers returns readers of the rooms that the leader has admitted a visitor to.
func (y *Relay) readers(t *farTrunk, g *farGrant, marks []string, answer grantAnswer) ([]reader, error) {
	if len(marks) != len(answer.Rooms) {
		return nil, errTrunkEnded
	}
	readers := make([]reader, 0, len(marks))
	for i, room := range answer.Rooms {
		at, err := parseMark(marks[i])
		if err != nil {
			return nil, err
		}
		m, err := t.mirrorFor(g, room)
		var closing closeReason
		switch {
		case err != nil && errors.As(context.Cause(g.ctx), &closing):
			return nil, nil // the visitor was shut out meanwhile; the stream is closed with the reason
		case err != nil:
			return nil, err
		}
		readers = append(readers, reader{m, at, answer.Holder, y.cfg.Frames})
	}
	return readers, nil
}

func (y *Relay) serveStream(w http.ResponseWriter, r *http.Request, g *farGrant, readers []reader) {
	c, out, err := upgrade.Accept(w, r, staleAfter, acceptOptions(y.cfg.Public))
	if err != nil {
		g.End()
		return // Accept answered
	}
	ctx := r.Context()
	upgrade.Keep(ctx, func() {
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(g.ctx, end)()
		l := listen(ctx, c, g)
		err := pump(l.ctx, c, out, readers, g, y.cfg.Heartbeat)
		if over := context.Cause(g.ctx); over != nil {
			err = over
		}
		closeFor(c, err)
		_ = c.CloseNow()
		l.wait()
	})
}

// trunkTo returns the connection to the leader, and opens it if there is none.
func (y *Relay) trunkTo(ctx context.Context, leader string, tenure context.Context) (*farTrunk, error) {
	y.mu.Lock()
	d := y.dial
	if d == nil || d.leader != leader || d.isOver() {
		d = &dialing{leader: leader, done: make(chan struct{})}
		y.dial = d
		go func() {
			defer close(d.done)
			d.trunk, d.err = y.open(tenure, leader)
		}()
	}
	y.mu.Unlock()
	select {
	case <-d.done:
		return d.trunk, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isOver reports whether a connection could not be opened or has ended.
func (d *dialing) isOver() bool {
	select {
	case <-d.done:
		return d.err != nil || d.trunk.ctx.Err() != nil
	default:
		return false
	}
}

// open opens a connection to the leader, which ends with tenure.
func (y *Relay) open(tenure context.Context, leader string) (*farTrunk, error) {
	ctx, cancel := context.WithTimeout(tenure, trunkTimeout)
	defer cancel()
	c, res, err := websocket.Dial(ctx, "ws://"+leader+y.cfg.TrunkPath, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: y.cfg.Transport}, CompressionMode: websocket.CompressionDisabled})
	switch {
	case err != nil && res != nil && res.StatusCode == http.StatusNotFound:
		return nil, ErrNoTrunk
	case err != nil:
		return nil, errors.Join(errTrunkEnded, err)
	}
	c.SetReadLimit(mostFarSize)
	var hello greeting
	_, b, err := c.Read(ctx)
	if err == nil {
		err = json.Unmarshal(b, &hello)
	}
	if err != nil {
		_ = c.CloseNow()
		return nil, errors.Join(errTrunkEnded, err)
	}
	t := &farTrunk{name: hello.Trunk, wake: make(chan struct{}, 1), grants: map[uint64]*farGrant{}, mirrors: map[uint64]*mirror{}}
	t.ctx, t.stop = context.WithCancelCause(tenure)
	go t.run(c)
	return t, nil
}
