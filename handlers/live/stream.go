package live

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/quota"
)

const (
	mostMarks   = 10   // rooms one page follows
	codeRevoked = 4403 // closes a stream whose reader has lost access
	codeDeleted = 4404 // closes a stream whose session or chat was deleted
)

// closeReason is why a stream is closed: a WebSocket close code, or 0 for none, and a word for programs.
type closeReason struct {
	code websocket.StatusCode
	why  string
}

func (s closeReason) Error() string { return s.why }

// errDeleted closes the streams of a room that was deleted.
var errDeleted = closeReason{codeDeleted, "deleted"}

// ServeStream answers GET /live?f=mark&f=mark with the one stream of an open page: a WebSocket of text
// frames [feed, number, [patch, …]]. A page that reconnects sends its newest marks. If the frames after a
// mark are no longer kept, or the mark is from an earlier run of the program, the whole room is sent as
// one frame.
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
	if name, ok := grantName(r.Context()); ok {
		return e.serveGrant(w, r, who, name, readers, leave)
	}
	c, out, err := upgrade.Accept(w, r, staleAfter, e.AcceptOptions())
	if err != nil {
		leave()
		return nil // Accept answered
	}
	v := e.cfg.Visit(r, who)
	ctx := r.Context()
	upgrade.Keep(ctx, func() {
		defer leave()
		e.serveStream(ctx, who, v, c, out, readers)
	})
	return nil
}

// serveStream sends frames to a page until it leaves or its reader loses access.
func (e *Engine) serveStream(ctx context.Context, who access.Principal, v Visitor, c *websocket.Conn, out *upgrade.Conn,
	readers []reader) {
	e.pages.Add(1)
	defer e.pages.Add(-1)
	ctx, end := e.BindStream(ctx, who)
	defer end(nil)
	l := listen(ctx, c, v)
	err := pump(l.ctx, c, out, readers, v, e.cfg.Heartbeat)
	if errors.Is(context.Cause(ctx), access.ErrRevoked) {
		err = closeReason{codeRevoked, "revoked"}
	}
	closeFor(c, err)
	_ = c.CloseNow()
	l.wait()
}

// closeFor closes a stream with the reason in err, if there is one.
func closeFor(c *websocket.Conn, err error) {
	if s, ok := errors.AsType[closeReason](err); ok && s.code != 0 {
		_ = c.Close(s.code, s.why)
	}
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

// BindStream returns a context that ends with ctx, and with the link that admitted the principal.
func (e *Engine) BindStream(ctx context.Context, who access.Principal) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	if who.Link == "" || e.cfg.Links == nil {
		return ctx, end
	}
	bound, cancel := e.cfg.Links.Bind(ctx, who)
	return bound, func(err error) { cancel(); end(err) }
}

// source provides the frames of a room: its feed, or on a follower its mirror.
type source interface {
	epochName() string
	frameAfter(epoch string, n int64) (frame, error)
	settle(ctx context.Context) error
	join(wake chan<- struct{})
	leave(wake chan<- struct{})
}

// reader is one page's position in one room.
type reader struct {
	feed   source
	at     mark
	holder quota.Holder
	frames *quota.Pool
}

// pump writes frames until the page leaves or a room ends, and returns why. One goroutine writes for all
// rooms of a page: each goroutine costs 8 KiB of stack.
func pump(ctx context.Context, c *websocket.Conn, out *upgrade.Conn, readers []reader, v Visitor, beat Heartbeat) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wake := make(chan struct{}, 1)
	for _, rd := range readers {
		rd.feed.join(wake)
		defer rd.feed.leave(wake)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		err = writeRooms(ctx, c, out, readers, wake)
	})
	beat.keepAlive(ctx, c, v, stop)
	wg.Wait()
	return err
}

// writeRooms writes the frames of all rooms, a frame of each in turn.
func writeRooms(ctx context.Context, c *websocket.Conn, out *upgrade.Conn, readers []reader, wake <-chan struct{}) error {
	for {
		wrote := false
		for i := range readers {
			more, err := readers[i].writeNext(ctx, c, out)
			if err != nil {
				return err
			}
			wrote = wrote || more
		}
		if wrote {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeNext writes the room's next frame and reports whether there was one.
func (rd *reader) writeNext(ctx context.Context, c *websocket.Conn, out *upgrade.Conn) (wrote bool, err error) {
	f, err := rd.feed.frameAfter(rd.at.epoch, rd.at.n)
	if err != nil {
		return false, err
	}
	if f.bytes == nil {
		return false, nil
	}
	rd.at.epoch, rd.at.n = rd.feed.epochName(), f.n
	if err := rd.feed.settle(ctx); err != nil {
		return false, err
	}
	return true, rd.send(ctx, c, out, f.bytes)
}

// smallFrame is the size up to which frames do not count against the quota of frames.
const smallFrame = 64 << 10

// send writes a frame. A large one counts against the quota until it is written, so that stalled readers
// cannot hold many.
func (rd *reader) send(ctx context.Context, c *websocket.Conn, out *upgrade.Conn, b []byte) error {
	if n := int64(len(b)); n > smallFrame {
		if err := rd.frames.Take(rd.holder, n); err != nil {
			return err
		}
		defer rd.frames.Return(rd.holder, n)
	}
	out.Hold() // a header and its frame leave together
	err := c.Write(ctx, websocket.MessageText, b)
	return cmp.Or(err, out.Release())
}

// AcceptOptions returns the options of streams. Pages of the public address are accepted too: behind a
// proxy, the Host of a request may lack the port that its Origin has. Package web has checked the Origin.
func (e *Engine) AcceptOptions() *websocket.AcceptOptions { return acceptOptions(e.cfg.Public) }

func acceptOptions(public string) *websocket.AcceptOptions {
	o := &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled}
	if public != "" {
		o.OriginPatterns = []string{strings.ReplaceAll(public, "[", `\[`)}
	}
	return o
}
