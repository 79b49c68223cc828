package live

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// Visitor is the reader of an open page, as others are shown them. Its methods are safe for concurrent use.
type Visitor interface {
	// Hear takes what the page says about where its reader is; an error closes the stream with its text.
	Hear(said []byte) error
	// MarkLost records that the page stopped answering, MarkBack that it answers again.
	MarkLost()
	MarkBack()
	// End says that the page is gone.
	End()
}

// unseen is a visitor that is shown to no one.
type unseen struct{}

func (unseen) Hear([]byte) error { return nil }
func (unseen) MarkLost()         {}
func (unseen) MarkBack()         {}
func (unseen) End()              {}

const (
	mostSaid   = 1024                   // bytes a page says at once
	hearPacing = 200 * time.Millisecond // between two things it says: a page that says more waits
)

// listener reads what a page says.
type listener struct {
	ctx   context.Context // ends when the page leaves
	ended chan struct{}
}

func (l listener) wait() { <-l.ended }

// listen reads what a page says until it leaves, which ends its visit.
func listen(ctx context.Context, c *websocket.Conn, v Visitor) listener {
	ctx, gone := context.WithCancel(ctx)
	l := listener{ctx, make(chan struct{})}
	go func() {
		defer close(l.ended)
		defer v.End()
		defer gone()
		c.SetReadLimit(mostSaid)
		for hear(ctx, c, v) == nil {
			select {
			case <-ctx.Done():
			case <-time.After(hearPacing):
			}
		}
	}()
	return l
}

// hear takes one thing a page says. Closing the connection is what ends the reading, not ctx: a page whose
// reader was shut out is told so first.
func hear(ctx context.Context, c *websocket.Conn, v Visitor) error {
	_, said, err := c.Read(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := v.Hear(said); err != nil {
		_ = c.Close(websocket.StatusPolicyViolation, err.Error())
		return err
	}
	return nil
}
