package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/ahphub/ahphub/hub/machine"
)

// ErrLost reports that the other computer restarted or was away for too long, and no longer knows this operation.
var ErrLost = errors.New("the other computer was started again or was away for too long")

// Bounds of unacknowledged messages in one direction of a Conduit.
const (
	mostLetters = 512
	mostBytes   = 1 << 20 // one letter may be larger
)

// Conduit carries messages in both directions, in order and exactly once, across several connections.
type Conduit struct {
	id, kind string

	mu      sync.Mutex
	changed chan struct{} // closed when a field below changes

	out   []letter // not acknowledged yet
	last  uint64   // number of this side's newest letter
	bytes int      // in out

	in      []letter // received, but not taken yet
	got     uint64   // number of the other side's newest letter
	taken   uint64
	inBytes int

	closing  bool  // this side has queued its last letter
	err      error // why nothing more arrives; letters in `in` can still be taken
	attached int   // number of attachments: the newest wins
	live     bool  // attached to a connection
	detach   context.CancelFunc
}

// letter is a message with its number, an acknowledgement, or both.
type letter struct {
	N    uint64          `cbor:"n,omitempty"`
	Body cbor.RawMessage `cbor:"b,omitempty"`
	Ack  uint64          `cbor:"a,omitempty"`
	End  *Error          `cbor:"e,omitempty"` // the last letter of a side
}

// hello starts an attachment.
type hello struct {
	ID    string `cbor:"id"`
	Kind  string `cbor:"kind"`
	Got   uint64 `cbor:"got"`
	Fresh bool   `cbor:"fresh"` // never attached before: the other side creates its end
	Run   string `cbor:"run"`   // run of the side that opens conduits
}

func newConduit(id, kind string) *Conduit {
	return &Conduit{id: id, kind: kind, changed: make(chan struct{})}
}

// ID returns the identifier of a conduit on both sides.
func (c *Conduit) ID() string { return c.id }

// notifyChanged wakes waiting goroutines; c.mu is held.
func (c *Conduit) notifyChanged() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// wait waits for a change of the state guarded by c.mu, which is held before and after.
func (c *Conduit) wait(ctx context.Context) error {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Send sends a message. It blocks while the other side is behind.
func (c *Conduit) Send(ctx context.Context, v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > mostMessage {
		return errTooLarge
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.out) > 0 && (len(c.out) >= mostLetters || c.bytes+len(b) > mostBytes) {
		if err := c.ended(); err != nil {
			return err
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	if err := c.ended(); err != nil {
		return err
	}
	c.add(letter{Body: b})
	return nil
}

// ended returns why nothing can be sent, or nil; c.mu is held.
func (c *Conduit) ended() error {
	switch {
	case c.err != nil:
		return c.err
	case c.closing:
		return ErrClosed
	}
	return nil
}

// add numbers and queues a letter; c.mu is held.
func (c *Conduit) add(l letter) {
	c.last++
	l.N = c.last
	c.out = append(c.out, l)
	c.bytes += len(l.Body)
	c.notifyChanged()
}

// Receive receives the next message. After the other side's last one, it returns the error that Close got there, or
// io.EOF for nil.
func (c *Conduit) Receive(ctx context.Context, v any) error {
	c.mu.Lock()
	for len(c.in) == 0 {
		if err := c.ended(); err != nil {
			c.mu.Unlock()
			return err
		}
		if err := c.wait(ctx); err != nil {
			c.mu.Unlock()
			return err
		}
	}
	l := c.in[0]
	c.in[0] = letter{}
	c.in = c.in[1:]
	c.inBytes -= len(l.Body)
	c.taken = max(c.taken, l.N)
	c.notifyChanged()
	c.mu.Unlock()
	return Unmarshal(l.Body, v)
}

// Close ends this side's messages, with a reason. Messages sent before still arrive.
func (c *Conduit) Close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.err != nil {
		return
	}
	c.closing = true
	end := EncodeError(err)
	if end == nil {
		end = EncodeError(io.EOF)
	}
	c.add(letter{End: end})
}

// fail ends a conduit without notifying the other side.
func (c *Conduit) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		c.notifyChanged()
	}
	if c.detach != nil {
		c.detach()
	}
}

// isOver reports whether nothing remains to be sent or received.
func (c *Conduit) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || c.closing && len(c.out) == 0
}

// run carries letters over a stream until the stream or the conduit ends, or the conduit is attached to another stream.
// got is the number of the last letter that the other side has.
func (c *Conduit) run(ctx context.Context, s *Stream, got uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if got > c.last || len(c.out) > 0 && got+1 < c.out[0].N {
		c.mu.Unlock()
		c.fail(ErrLost)
		return ErrLost
	}
	if c.detach != nil {
		c.detach()
	}
	c.detach = cancel
	c.attached++
	mine := c.attached
	c.live = true
	c.notifyChanged()
	c.mu.Unlock()
	defer c.leave(mine)
	reading := make(chan error, 1)
	go func() {
		err := c.read(s, mine)
		cancel()
		reading <- err
	}()
	err := c.write(ctx, s, got)
	cancel()
	s.Close()
	return errors.Join(err, finish(s, reading))
}

// leave records that an attachment ended.
func (c *Conduit) leave(mine int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mine == c.attached {
		c.live = false
		c.notifyChanged()
	}
}

// Attachments returns how often c was attached to a connection, and whether it is attached now.
func (c *Conduit) Attachments() (count int, live bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attached, c.live
}

// WhileAttached returns a context that ends with ctx, or with machine.ErrOffline once c is not attached.
func (c *Conduit) WhileAttached(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for c.live {
			if c.wait(ctx) != nil {
				return
			}
		}
		cancel(machine.ErrOffline)
	}()
	return ctx, func() { cancel(nil) }
}

// finish waits for the reader of a stream opened here. A handler's stream ends only when the handler returns, so
// waiting there would never end.
func finish(s *Stream, reading <-chan error) error {
	if s.close == nil {
		return nil
	}
	return <-reading
}

// write sends letters and acknowledgements until ctx ends.
func (c *Conduit) write(ctx context.Context, s *Stream, sent uint64) error {
	acked := uint64(0)
	for {
		c.mu.Lock()
		var next letter
		for {
			next = c.nextAfter(sent)
			if next.N != 0 || c.taken != acked {
				break
			}
			if c.err != nil || c.closing && len(c.out) == 0 {
				c.mu.Unlock()
				return nil
			}
			if err := c.wait(ctx); err != nil {
				c.mu.Unlock()
				return err
			}
		}
		next.Ack = c.taken
		c.mu.Unlock()
		if err := s.Send(next); err != nil {
			return err
		}
		acked, sent = next.Ack, max(sent, next.N)
	}
}

// nextAfter returns the letter after number n, or the zero letter. c.mu is held.
func (c *Conduit) nextAfter(n uint64) letter {
	if len(c.out) == 0 || n >= c.last {
		return letter{}
	}
	return c.out[max(0, int64(n)+1-int64(c.out[0].N))]
}

// read receives letters and acknowledgements.
func (c *Conduit) read(s *Stream, mine int) error {
	for {
		var l letter
		if err := s.Receive(&l); err != nil {
			return err
		}
		if err := c.accept(l, mine); err != nil {
			if !errors.Is(err, errDetached) {
				c.fail(err)
			}
			return err
		}
	}
}

var errDetached = errors.New("it is attached to another connection")

// accept processes a letter of the other side, which may be hostile.
func (c *Conduit) accept(l letter, mine int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mine != c.attached {
		return errDetached
	}
	if l.Ack > c.last {
		return fmt.Errorf("the other side acknowledges message %d of %d", l.Ack, c.last)
	}
	for len(c.out) > 0 && c.out[0].N <= l.Ack {
		c.bytes -= len(c.out[0].Body)
		c.out[0] = letter{}
		c.out = c.out[1:]
	}
	defer c.notifyChanged()
	switch {
	case l.N == 0 || l.N <= c.got:
		return nil
	case l.N != c.got+1:
		return fmt.Errorf("the other side sent message %d after %d", l.N, c.got)
	case c.err != nil:
		return nil
	case l.End != nil:
		c.got, c.taken, c.err = l.N, l.N, l.End.Decode()
		return nil
	case len(c.in) >= mostLetters || len(c.in) > 0 && c.inBytes+len(l.Body) > mostBytes:
		return errors.New("the other side sends more than is taken")
	}
	c.got = l.N
	c.in = append(c.in, letter{N: l.N, Body: l.Body})
	c.inBytes += len(l.Body)
	return nil
}
