package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/hub/quota"
)

const (
	mostMarks  = 10               // rooms one page follows
	staleAfter = 90 * time.Second // without a pong the stream is closed
)

// beat is how soon the others see that somebody's page is gone without a word, both together stay under 10 s, and how
// soon the page itself notices: base.js shows that the connection is lost after 3.6 s of silence.
type beat struct {
	every     time.Duration // heartbeats and pings
	lostAfter time.Duration // without a pong its reader is not shown any more
	word      []byte        // the heartbeat, as scripts see no pings; nil for none
}

var (
	usualBeat = beat{2 * time.Second, 4 * time.Second, heartbeat}
	calmBeat  = beat{25 * time.Second, staleAfter, nil} // of a stream beside a page's own
)

// heartbeat is a frame of no room, with no patches.
var heartbeat = []byte(`["",0,[]]`)

// mark says which frame of which room a page was drawn from.
type mark struct {
	name, epoch string
	n           int64
}

func parseMark(s string) (mark, error) {
	parts := strings.Split(s, "~")
	if len(parts) != 3 {
		return mark{}, errBadRequest("This is not a mark of a live page: reload it.")
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return mark{}, errBadRequest("This is not a mark of a live page: reload it.")
	}
	return mark{parts[0], parts[1], n}, nil
}

// live is the one stream of an open page: GET /live?f=mark&f=mark, a WebSocket of text frames [feed, number, [patch, …]]. The
// page sends its newest marks when it connects again; where a mark is past the window, or of an earlier run of the
// program, the whole room comes as one frame.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	marks := r.URL.Query()["f"]
	if len(marks) == 0 || len(marks) > mostMarks {
		return errBadRequest("A live page names one to ten rooms.")
	}
	readers := make([]reader, 0, len(marks))
	for _, s := range marks {
		m, err := parseMark(s)
		if err != nil {
			return err
		}
		f, err := p.feed(r.Context(), who, m.name)
		if err != nil {
			return err
		}
		readers = append(readers, reader{f, m, holderOf(who), p.Frames})
	}
	leave, err := p.sit(who)
	if err != nil {
		return err
	}
	defer leave()
	c, err := websocket.Accept(w, r, p.acceptOptions())
	if err != nil {
		return nil // Accept answered
	}
	ctx, end := p.streamContext(r.Context(), who)
	defer end(nil)
	ear := p.listen(ctx, c, p.present(who, r))
	p.pump(ear.ctx, c, readers, ear.visit)
	if errors.Is(context.Cause(ctx), access.ErrRevoked) {
		_ = c.Close(4403, "revoked")
	}
	_ = c.CloseNow()
	ear.wait()
	return nil
}

// sit counts an open stream of a visitor until leave is called.
func (p *Pages) sit(who access.Principal) (leave func(), err error) {
	h := holderOf(who)
	switch err := p.Sockets.Take(h, 1); {
	case errors.Is(err, quota.ErrTotal):
		return nil, errBusy
	case err != nil:
		return nil, &fault{http.StatusTooManyRequests, "You have too many pages open here. Close some and reload this one.", err}
	}
	return func() { p.Sockets.Return(h, 1) }, nil
}

// holderOf is a visitor as quotas count them: guests of a link have one in common.
func holderOf(who access.Principal) quota.Holder { return quota.Holder{ID: who.ID, Group: who.Link} }

// streamContext ends with the request, and with the link the person came by.
func (p *Pages) streamContext(ctx context.Context, who access.Principal) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	if who.Link == "" || p.Links == nil {
		return ctx, end
	}
	bound, cancel := p.Links.Bind(ctx, who)
	return bound, func(err error) { cancel(); end(err) }
}

// reader is one page's place in one room.
type reader struct {
	feed   *feed
	at     mark
	holder quota.Holder
	frames *quota.Pool
}

// pump writes frames until the page leaves; each room has a goroutine of its own, and the connection's writes are
// safe to share. It waits for all of them.
func (p *Pages) pump(ctx context.Context, c *websocket.Conn, readers []reader, visit *presence.Visit) {
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
	wg.Go(func() { p.beat.keepAlive(ctx, c, visit, stop) })
	wg.Wait()
}

func (rd reader) write(ctx context.Context, c *websocket.Conn) {
	epoch, n := rd.at.epoch, rd.at.n
	for {
		b, now, wait, err := rd.feed.next(epoch, n)
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

// smallFrame is what a stalled reader may hold without being counted.
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

// keepAlive notices a page that is gone without a word: soon for the others, who see its reader, and late for the
// stream, which lives on when the network comes back.
func (b beat) keepAlive(ctx context.Context, c *websocket.Conn, visit *presence.Visit, stop context.CancelFunc) {
	t := time.NewTimer(b.next(time.Now()))
	defer t.Stop()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			lost := time.AfterFunc(b.lostAfter, visit.Lost)
			err := b.send(ctx, c)
			lost.Stop()
			if err != nil {
				return
			}
			visit.Back()
			t.Reset(b.next(time.Now()))
		}
	}
}

// send writes the heartbeat and waits for a pong.
func (b beat) send(ctx context.Context, c *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, staleAfter)
	defer cancel()
	if b.word != nil {
		if err := c.Write(ctx, websocket.MessageText, b.word); err != nil {
			return err
		}
	}
	return c.Ping(ctx)
}

// next is how long to wait for the next beat. Pages beat together, in a few groups: a process that wakes up for each of
// them alone spends more on waking up than on the beats.
func (b beat) next(now time.Time) time.Duration {
	step := b.every / 8
	return now.Add(b.every).Truncate(step).Sub(now)
}

// acceptOptions takes streams of pages of the public address too: behind a proxy the Host of a request may lack the port
// that its Origin has. web checked the Origin before.
func (p *Pages) acceptOptions() *websocket.AcceptOptions {
	o := &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled}
	if p.Public != "" {
		o.OriginPatterns = []string{strings.ReplaceAll(p.Public, "[", `\[`)}
	}
	return o
}
