package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

var (
	// ErrBusy is returned by Call while too many calls wait for an answer.
	ErrBusy = errors.New("too many calls wait for an answer on this connection")
	// ErrClosed is wrapped by the error of calls that fail because the connection ended.
	ErrClosed = errors.New("the connection is closed")
)

// Config describes one end of a connection.
type Config struct {
	// Send queues a frame. It must not block, and it must keep the order.
	Send func(frame []byte)
	// Handle is called with each request and notification in order of arrival, and answers requests
	// itself, with Send.
	Handle  func(Message)
	Limits  Limits
	Pending int // pending calls: 256
}

// Conn is one end of a connection: it receives calls with Receive and sends calls with Call.
type Conn struct {
	cfg Config

	mu      sync.Mutex
	next    int64
	pending map[ID]chan Message
	err     error
}

// NewConn returns an end that is open until Close.
func NewConn(cfg Config) *Conn {
	cfg.Pending = or(cfg.Pending, 256)
	return &Conn{cfg: cfg, pending: map[ID]chan Message{}}
}

// Receive handles an incoming frame. It answers a frame that it cannot decode with an error.
func (c *Conn) Receive(frame []byte) {
	m, err := Decode(frame, c.cfg.Limits)
	switch {
	case err != nil:
		if m.ID == nullID {
			m.ID = ""
		}
		c.cfg.Send(AppendError(nil, m.ID, err))
	case m.IsResponse():
		c.resolve(m)
	default:
		c.cfg.Handle(m)
	}
}

func (c *Conn) resolve(m Message) {
	c.mu.Lock()
	wait := c.pending[m.ID]
	delete(c.pending, m.ID)
	c.mu.Unlock()
	if wait != nil {
		wait <- m
	}
}

// Call sends a request and waits for the response. The error is an *Error if the other end refused,
// else ctx's, ErrBusy or one that wraps ErrClosed.
func (c *Conn) Call(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	id, wait, err := c.expect()
	if err != nil {
		return nil, err
	}
	defer c.forget(id)
	c.cfg.Send(AppendRequest(nil, id, method, params))
	select {
	case m, ok := <-wait:
		if !ok {
			return nil, c.closed()
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params []byte) {
	c.cfg.Send(AppendNotification(nil, method, params))
}

func (c *Conn) expect() (ID, chan Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", nil, c.err
	}
	if len(c.pending) >= c.cfg.Pending {
		return "", nil, ErrBusy
	}
	c.next++
	id, wait := NumberID(c.next), make(chan Message, 1)
	c.pending[id] = wait
	return id, wait, nil
}

func (c *Conn) forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

func (c *Conn) closed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends every pending call; reason is wrapped in their error.
func (c *Conn) Close(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = errors.Join(ErrClosed, reason)
	for id, wait := range c.pending {
		delete(c.pending, id)
		close(wait)
	}
}
