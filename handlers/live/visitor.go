package live

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// Visitor is the reader of an open page, as shown to others. Its methods are safe for concurrent use.
type Visitor interface {
	// Hear takes a page's report of where its reader is. An error closes the stream with its text.
	Hear(said []byte) error
	// MarkLost records that the page stopped answering, MarkBack that it answers again.
	MarkLost()
	MarkBack()
	// End reports that the page is gone.
	End()
}

// hiddenVisitor is not shown to others.
type hiddenVisitor struct{}

func (hiddenVisitor) Hear([]byte) error { return nil }
func (hiddenVisitor) MarkLost()         {}
func (hiddenVisitor) MarkBack()         {}
func (hiddenVisitor) End()              {}

const (
	mostSaid   = 1024                   // bytes of a page's report
	hearPacing = 200 * time.Millisecond // between two reports of a page
)

// listener reads the reports of a page.
type listener struct {
	ctx   context.Context // ends when the page leaves
	ended chan struct{}
}

func (l listener) wait() { <-l.ended }

// listen reads the reports of a page until it leaves, which ends its visit.
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

// hear reads one report of a page. Closing the connection ends the read, and ctx does not: a page whose
// reader lost access receives the reason first.
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
