package live

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	pace       = 50 * time.Millisecond // between two renders of a room: text that streams faster is drawn together
	keptFrames = 512
	keptBytes  = 512 << 10
	idleLimit  = 30 * time.Second // an empty room stays open this long, so that a reload finds it
)

// feed renders one room once for all its readers, and keeps the newest frames. Readers hold a number
// instead of a queue: a slow reader costs nothing, and gets the whole room once its next frame is
// no longer kept.
type feed struct {
	name, epoch string
	room        Room
	conn        *hub.Conn
	renders     *atomic.Int64 // how often anything was rendered; shared by all feeds
	hub         *hub.Hub
	deleted     atomic.Bool // the room's session or chat has been deleted

	mu     sync.Mutex
	states States   // with all received envelopes applied
	drawn  States   // as of the newest frame: pages and whole rooms are rendered from these
	n      int64    // number of the newest frame
	frames [][]byte // the newest len(frames), the last is n
	bytes  int
	whole  []byte                   // Whole at n; nil until a reader needs it
	wakes  map[chan<- struct{}]bool // channels of readers
	ended  chan struct{}            // closed by finish
	err    error
	idle   time.Time
}

// frame is an update of a room and its number. Without bytes, it reports that there is no update yet.
type frame struct {
	bytes []byte
	n     int64
	whole bool // the update replaces all of the room
}

// frameAfter returns the frame after number n of an epoch, or the whole room as one frame if that frame is
// not kept. A stalled reader holds one frame at most.
func (f *feed) frameAfter(epoch string, n int64) (frame, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := f.n - n
	switch {
	case f.deleted.Load():
		return frame{}, errDeleted
	case f.err != nil:
		return frame{}, f.err
	case !f.has(epoch, n):
		return frame{f.encodeWhole(), f.n, true}, nil
	case missing == 0:
		return frame{n: n}, nil
	}
	return frame{bytes: f.frames[len(f.frames)-int(missing)], n: n + 1}, nil
}

// has reports whether the frames after number n of an epoch are kept; f.mu is held.
func (f *feed) has(epoch string, n int64) bool {
	return epoch == f.epoch && n <= f.n && f.n-n <= int64(len(f.frames))
}

// encodeWhole returns the whole room as one frame; f.mu is held.
func (f *feed) encodeWhole() []byte {
	if f.whole == nil {
		f.whole = f.encode(f.room.Whole(f.drawn), f.mark(f.n))
	}
	return f.whole
}

// epochName returns the part of marks that names the run of the program and the feed.
func (f *feed) epochName() string { return f.epoch }

// settle waits until everything that rooms show is on the disks of a quorum. Rooms also show data that
// comes without an envelope.
func (f *feed) settle(ctx context.Context) error { return f.hub.SettleShown(ctx) }

// view calls draw with the states of one moment, and returns the mark from which a stream continues. The
// states have all changes from before the call: after a form, its sender sees the result.
func (f *feed) view(ctx context.Context, draw func(Room, States)) (mark string, err error) {
	now := make(flush)
	f.conn.PutFree(now)
	select {
	case <-now:
	case <-f.ended:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	draw(f.room, f.drawn)
	return f.mark(f.n), nil
}

func (f *feed) mark(n int64) string { return mark{f.name, f.epoch, n}.String() }

// pace returns the least time between two renders.
func (f *feed) pace() time.Duration {
	if r, ok := f.room.(Pacer); ok {
		return r.Pace()
	}
	return pace
}

// run handles items of the hub until its connection is closed. It renders the first change at once, and
// then at most once per pace.
func (f *feed) run(ctx context.Context) error {
	var news News
	var due time.Time // of the next render; zero: there is nothing to render
	var drawn time.Time
	items := make([]hub.Item, 0, 16)
	for {
		wait, cancel := ctx, func() {}
		if !due.IsZero() {
			wait, cancel = context.WithDeadline(ctx, due)
		}
		var err error
		items, err = f.conn.Next(wait, items[:0])
		cancel()
		if err != nil && (due.IsZero() || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
		any, asked := f.apply(items, &news)
		if any && due.IsZero() {
			due = drawn.Add(f.pace())
		}
		if len(asked) > 0 && !due.IsZero() {
			due = time.Now()
		}
		if now := time.Now(); !due.IsZero() && !now.Before(due) {
			f.draw(news)
			news, due, drawn = News{}, time.Time{}, now
		}
		for _, a := range asked {
			close(a)
		}
	}
}

// apply applies items to the states. It reports whether there is something to render, and returns the
// requests for a flush.
func (f *feed) apply(items []hub.Item, news *News) (any bool, asked []flush) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range items {
		switch {
		case it.Env != nil && it.Env.Rejection == "":
			uri := it.Env.Channel.URI
			f.states[uri] = ahp.Reduce(f.states[uri], it.Env.Action)
			news.Envelopes, any = append(news.Envelopes, it.Env), true
		case it.Put == pinged{}:
			news.Pinged, any = true, true
		}
		switch v := it.Put.(type) {
		case *hub.Notification:
			news.Notifications, any = append(news.Notifications, v), true
		case flush:
			asked = append(asked, v)
		}
		for _, s := range it.Snapshots {
			if s.State != nil {
				f.states[s.Info.URI] = s.State
			}
		}
	}
	return any, asked
}

type pinged struct{}

// flush is queued behind earlier items, and closed once these are rendered.
type flush chan struct{}

// draw renders the news once and wakes every reader.
func (f *feed) draw(news News) {
	f.mu.Lock()
	defer f.mu.Unlock()
	patches := f.room.Changed(f.states, news)
	f.drawn, f.whole = f.states.Copy(), nil
	if len(patches) == 0 {
		return
	}
	f.n++
	b := f.encode(patches)
	f.frames, f.bytes = append(f.frames, b), f.bytes+len(b)
	for len(f.frames) > keptFrames || f.bytes > keptBytes && len(f.frames) > 1 {
		f.bytes -= len(f.frames[0])
		f.frames = f.frames[1:]
	}
	f.wakeReaders()
}

// wakeReaders makes every reader look for a frame; f.mu is held.
func (f *feed) wakeReaders() {
	for wake := range f.wakes {
		select {
		case wake <- struct{}{}:
		default: // it is already awake
		}
	}
}

// encode encodes a frame as [short name of the feed, number, [patch, …]], followed by the full mark if the
// frame replaces all of the room. Streamed text comes in very small pieces, so the rest is kept short.
func (f *feed) encode(p []Patch, mark ...string) []byte {
	f.renders.Add(1)
	if p == nil {
		p = []Patch{} // a page iterates over it
	}
	all := []any{f.epoch[strings.IndexByte(f.epoch, '.')+1:], f.n, p}
	for _, m := range mark {
		all = append(all, m)
	}
	b, err := marshalPlain(all)
	if err != nil {
		return nil // arrays of strings and numbers can always be encoded
	}
	return b
}

// hasEnded reports whether the feed has ended, or is about to.
func (f *feed) hasEnded() bool {
	if f.deleted.Load() {
		return true
	}
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// finish ends the streams of every reader with err.
func (f *feed) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	close(f.ended)
	f.wakeReaders()
}

// subscribe follows the room's channels and waits for their snapshots.
func (f *feed) subscribe(ctx context.Context) error {
	uris := f.room.Channels()
	subs := make([]hub.Subscription, len(uris))
	for i, u := range uris {
		subs[i] = hub.Subscription{URI: u}
	}
	f.conn.Subscribe(f, subs...)
	items, err := f.conn.Next(ctx, nil)
	for err == nil && len(f.states) < len(uris) {
		var news News
		for _, it := range items {
			for _, s := range it.Snapshots {
				if s.State == nil {
					return ErrGone
				}
			}
		}
		f.apply(items, &news)
		if len(f.states) < len(uris) {
			items, err = f.conn.Next(ctx, items[:0])
		}
	}
	if err != nil {
		return err
	}
	f.drawn = f.states.Copy()
	if r, ok := f.room.(Opener); ok {
		r.Opened(f.drawn)
	}
	return nil
}
