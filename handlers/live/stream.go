package live

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/quota"
)

const mostMarks = 10 // rooms one page follows

// ServeStream is GET /live?f=mark&f=mark, the one stream of an open page: a WebSocket of text frames
// [feed, number, [patch, …]]. The page sends its newest marks when it connects again; where a mark is past the window,
// or of an earlier run of the program, the whole room comes as one frame.
func (e *Engine) ServeStream(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	readers, err := e.readers(r.Context(), who, r.URL.Query()["f"])
	if err != nil {
		return err
	}
	leave, err := e.CountStream(who)
	if err != nil {
		return err
	}
	defer leave()
	c, err := websocket.Accept(w, r, e.AcceptOptions())
	if err != nil {
		return nil // Accept answered
	}
	ctx, end := e.BindStream(r.Context(), who)
	defer end(nil)
	v := e.cfg.Visit(r, who)
	l := listen(ctx, c, v)
	e.pump(l.ctx, c, readers, v)
	if errors.Is(context.Cause(ctx), access.ErrRevoked) {
		_ = c.Close(4403, "revoked")
	}
	_ = c.CloseNow()
	l.wait()
	return nil
}

// readers finds the feeds of a page's marks.
func (e *Engine) readers(ctx context.Context, who access.Principal, marks []string) ([]reader, error) {
	if len(marks) == 0 || len(marks) > mostMarks {
		return nil, ErrMarks
	}
	readers := make([]reader, 0, len(marks))
	for _, s := range marks {
		m, err := parseMark(s)
		if err != nil {
			return nil, err
		}
		f, err := e.feedOf(ctx, who, m.room)
		if err != nil {
			return nil, err
		}
		readers = append(readers, reader{f, m, holderOf(who), e.cfg.Frames})
	}
	return readers, nil
}

// CountStream counts an open stream of a principal until leave is called.
func (e *Engine) CountStream(who access.Principal) (leave func(), err error) {
	h := holderOf(who)
	switch err := e.cfg.Sockets.Take(h, 1); {
	case errors.Is(err, quota.ErrTotal):
		return nil, ErrBusy
	case err != nil:
		return nil, errors.Join(ErrTooManyOpen, err)
	}
	return func() { e.cfg.Sockets.Return(h, 1) }, nil
}

// holderOf returns a principal as quotas count them: guests of a link have one in common.
func holderOf(who access.Principal) quota.Holder {
	return quota.Holder{ID: who.ID, Group: who.Link}
}

// BindStream returns a context that ends with ctx, and with the link that let the principal in.
func (e *Engine) BindStream(ctx context.Context, who access.Principal) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	if who.Link == "" || e.cfg.Links == nil {
		return ctx, end
	}
	bound, cancel := e.cfg.Links.Bind(ctx, who)
	return bound, func(err error) { cancel(); end(err) }
}

// reader is one page's place in one room.
type reader struct {
	feed   *feed
	at     mark
	holder quota.Holder
	frames *quota.Pool
}

// pump writes frames until the page leaves, and waits for its goroutines: each room has one, and the connection's
// writes are safe to share.
func (e *Engine) pump(ctx context.Context, c *websocket.Conn, readers []reader, v Visitor) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for _, rd := range readers {
		rd.feed.join()
		wg.Go(func() {
			defer rd.feed.leave()
			defer stop()
			rd.write(ctx, c)
		})
	}
	wg.Go(func() { e.cfg.Heartbeat.keepAlive(ctx, c, v, stop) })
	wg.Wait()
}

func (rd reader) write(ctx context.Context, c *websocket.Conn) {
	epoch, n := rd.at.epoch, rd.at.n
	for {
		b, now, wait, err := rd.feed.frameAfter(epoch, n)
		if err != nil {
			return
		}
		epoch, n = rd.feed.epoch, now
		if b != nil {
			if rd.send(ctx, c, b) != nil {
				return
			}
			continue
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return
		}
	}
}

// smallFrame is how much a stalled reader may hold without being counted.
const smallFrame = 64 << 10

// send writes a frame; a large one counts until it has left, so that readers who stall do not hold many.
func (rd reader) send(ctx context.Context, c *websocket.Conn, b []byte) error {
	if n := int64(len(b)); n > smallFrame {
		if err := rd.frames.Take(rd.holder, n); err != nil {
			return err
		}
		defer rd.frames.Return(rd.holder, n)
	}
	return c.Write(ctx, websocket.MessageText, b)
}

// AcceptOptions returns the options of streams. Those of pages of the public address are taken too: behind a proxy the
// Host of a request may lack the port that its Origin has. web checked the Origin before.
func (e *Engine) AcceptOptions() *websocket.AcceptOptions {
	o := &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled}
	if e.cfg.Public != "" {
		o.OriginPatterns = []string{strings.ReplaceAll(e.cfg.Public, "[", `\[`)}
	}
	return o
}
