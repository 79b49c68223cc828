package live

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// staleAfter is how long a stream lives without a pong.
const staleAfter = 90 * time.Second

// Heartbeat is the interval of heartbeats and the timeout for silent disconnects. Both together stay under 10 s, so
// that others see soon that a reader is gone; live.js shows that the connection is lost after 3.6 s of silence.
type Heartbeat struct {
	Every     time.Duration // heartbeats and pings: 2 s
	LostAfter time.Duration // timeout of a pong, after which a page's reader is no longer shown: 4 s

	frame []byte // the heartbeat's frame, as scripts see no pings; nil for none
}

// heartbeatFrame belongs to no room and has no patches.
var heartbeatFrame = []byte(`["",0,[]]`)

func (b Heartbeat) withDefaults() Heartbeat {
	if b.Every == 0 {
		b = Heartbeat{Every: 2 * time.Second, LostAfter: 4 * time.Second}
	}
	b.frame = heartbeatFrame
	return b
}

// KeepAlive pings a socket beside a page's own stream, such as a terminal's, and calls stop when no pong comes.
func KeepAlive(ctx context.Context, c *websocket.Conn, stop context.CancelFunc) {
	Heartbeat{Every: 25 * time.Second, LostAfter: staleAfter}.keepAlive(ctx, c, hiddenVisitor{}, stop)
}

// keepAlive detects silent disconnects. After LostAfter, others no longer see the page's reader; after
// staleAfter, the stream ends. If the network recovers before that, the stream continues.
func (b Heartbeat) keepAlive(ctx context.Context, c *websocket.Conn, v Visitor, stop context.CancelFunc) {
	t := time.NewTimer(b.untilNext(time.Now()))
	defer t.Stop()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			lost := time.AfterFunc(b.LostAfter, v.MarkLost)
			err := b.send(ctx, c)
			lost.Stop()
			if err != nil {
				return
			}
			v.MarkBack()
			t.Reset(b.untilNext(time.Now()))
		}
	}
}

// send writes the heartbeat and waits for a pong.
func (b Heartbeat) send(ctx context.Context, c *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, staleAfter)
	defer cancel()
	if b.frame != nil {
		if err := c.Write(ctx, websocket.MessageText, b.frame); err != nil {
			return err
		}
	}
	return c.Ping(ctx)
}

// untilNext returns the time until the next heartbeat. Pages share a few moments: waking up the process
// for each page costs more than the heartbeats.
func (b Heartbeat) untilNext(now time.Time) time.Duration {
	step := b.Every / 8
	return now.Add(b.Every).Truncate(step).Sub(now)
}
