package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/e2e/wire"
	"github.com/ahphub/ahphub/hub/ahp"
)

// call is a pending request. apply runs on the reading goroutine, with the lock held and in the
// order of frames, so that a snapshot is stored before the actions after it.
type call struct {
	method string
	apply  func(result json.RawMessage) error
	done   chan error
}

type outgoing struct {
	JSONRPC string `json:"jsonrpc"`
	ID      *int64 `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// Call sends a request and decodes its result into result, which may be nil. Errors of the host are
// *ahp.Error with a json.RawMessage as Data.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	return p.call(ctx, method, params, func(raw json.RawMessage) error {
		if result == nil || len(raw) == 0 {
			return nil
		}
		return json.Unmarshal(raw, result)
	})
}

func (p *Peer) call(ctx context.Context, method string, params any, apply func(json.RawMessage) error) error {
	c := &call{method: method, apply: apply, done: make(chan error, 1)}
	p.mu.Lock()
	p.nextID++
	id := p.nextID
	p.calls[id] = c
	p.mu.Unlock()
	if err := p.write(ctx, outgoing{"2.0", &id, method, params}); err != nil {
		p.forget(id)
		return err
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		p.forget(id)
		return fmt.Errorf("peer: no answer to %s: %w", method, ctx.Err())
	}
}

// forget abandons a call. Frames after an abandoned reconnect are ignored, because they build on
// its answer.
func (p *Peer) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[id]; c != nil && c.method == "reconnect" {
		p.abandoned = true
	}
	delete(p.calls, id)
}

// Notify sends a notification.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	return p.write(ctx, outgoing{"2.0", nil, method, params})
}

func (p *Peer) write(ctx context.Context, m outgoing) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("peer: %s: %w", m.Method, err)
	}
	p.mu.Lock()
	conn, closed, watch := p.conn, p.closed, p.watch
	p.mu.Unlock()
	if conn == nil || closed != nil {
		return errors.Join(ErrClosed, closed)
	}
	if watch != nil {
		watch.Sent(b)
	}
	return conn.Write(ctx, websocket.MessageText, b)
}

// read reads until the connection ends, and then fails the pending calls.
func (p *Peer) read(conn *websocket.Conn, watch *wire.Conn) {
	for {
		kind, frame, err := conn.Read(context.Background()) // ended by Close or Drop
		if err != nil {
			p.ended(err)
			return
		}
		p.mu.Lock()
		abandoned := p.abandoned
		p.mu.Unlock()
		if abandoned {
			continue
		}
		if p.opts.OnFrame != nil {
			p.opts.OnFrame(frame)
		}
		p.inspect(watch, frame)
		if kind != websocket.MessageText {
			p.violate("a frame that is not text (AHP requirement 207)")
			continue
		}
		p.handle(frame)
	}
}

// inspect checks a frame against the version's schema; findings fail the package's tests
// (wire.Main).
func (p *Peer) inspect(watch *wire.Conn, frame []byte) {
	if watch == nil {
		return
	}
	err := watch.Received(frame)
	if wire.Note(err); err != nil && !errors.Is(err, spec.ErrAbsent) {
		p.violate("%v", err)
	}
}

func (p *Peer) ended(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = fmt.Errorf("%w: %w", ErrClosed, err)
	for id, c := range p.calls {
		c.done <- p.closed
		delete(p.calls, id)
	}
	p.wake()
}

// wake notifies the waiters of a change. The lock is held.
func (p *Peer) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Peer) handle(frame []byte) {
	var m incoming
	if err := json.Unmarshal(frame, &m); err != nil {
		p.violate("a frame that is not JSON: %v", err)
		return
	}
	if m.Method != "" && len(m.ID) > 0 {
		p.serve(m)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.abandoned {
		return
	}
	p.frames++
	switch {
	case m.Method == "action":
		p.applyFrame(m.Params)
	case m.Method != "":
		p.keepNotification(m)
	default:
		p.answer(m)
	}
	p.wake()
}

// answer completes the request of a response. The lock is held.
func (p *Peer) answer(m incoming) {
	var id int64
	if err := json.Unmarshal(m.ID, &id); err != nil {
		p.violateLocked("an answer with the id %s", m.ID)
		return
	}
	c, ok := p.calls[id]
	if !ok {
		return // its caller gave up
	}
	delete(p.calls, id)
	if m.Error != nil {
		c.done <- &ahp.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
		return
	}
	c.done <- c.apply(m.Result)
}

func (p *Peer) keepNotification(m incoming) {
	if len(p.notifications) == keptNotification {
		p.notifications = p.notifications[1:]
	}
	p.notifications = append(p.notifications, Notification{m.Method, m.Params})
	var params struct {
		Channel *ahp.URI `json:"channel"`
	}
	if json.Unmarshal(m.Params, &params) != nil || params.Channel == nil {
		p.violateLocked("%s without a channel (AHP requirement 3)", m.Method)
	} else if p.mirrors[*params.Channel] == nil {
		p.violateLocked("%s for %s, which is not subscribed (AHP requirement 29)", m.Method, *params.Channel)
	}
}

// serve answers a request from the host.
func (p *Peer) serve(m incoming) {
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if p.opts.Serve == nil {
		answer["error"] = ahp.Errorf(ahp.CodeMethodNotFound, "this client has no method %s", m.Method)
	} else if result, err := p.opts.Serve(m.Method, m.Params); err != nil {
		answer["error"] = err
	} else {
		answer["result"] = result
	}
	b, _ := json.Marshal(answer)
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		_ = conn.Write(context.Background(), websocket.MessageText, b) // a failed write also fails the next read
	}
}
