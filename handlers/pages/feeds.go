package pages

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/host"
)

// feeds are the rooms that somebody looks at, or did a moment ago. Each has one connection to the hub and one
// goroutine; Close stops them all and waits.
type feeds struct {
	hub     *hub.Hub
	renders atomic.Int64
	epoch   string // of this run of the program; marks of another one get the whole

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	open   map[string]*opening
}

// opening lets the second reader of a room wait for the first one's snapshots.
type opening struct {
	done chan struct{}
	feed *feed
	err  error
}

const mostRooms = 2000 // open at once, over all audiences

var errBusy = errors.New("too many pages are open: close some and try again")

func newFeeds(h *hub.Hub) *feeds {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	f := &feeds{hub: h, epoch: hex.EncodeToString(b[:]), open: map[string]*opening{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Close ends every feed and waits for its goroutine.
func (f *feeds) Close() {
	f.mu.Lock()
	f.cancel()
	f.mu.Unlock()
	f.wg.Wait()
}

// get returns the running feed of a room, or starts one. The name tells rooms apart within an audience, and within it
// what else they are drawn for.
func (f *feeds) get(ctx context.Context, aud hub.Audience, of, name string, room func() (Room, error)) (*feed, error) {
	key := aud.Key() + "|" + of + "|" + name
	f.mu.Lock()
	o := f.open[key]
	if o == nil {
		if len(f.open) >= mostRooms {
			f.mu.Unlock()
			return nil, errBusy
		}
		o = &opening{done: make(chan struct{})}
		f.open[key] = o
		f.wg.Go(func() { f.live(key, o, aud, name, room) })
	}
	f.mu.Unlock()
	select {
	case <-o.done:
		return o.feed, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// live is the goroutine of one feed, from its first reader until nobody looked for a while.
func (f *feeds) live(key string, o *opening, aud hub.Audience, name string, room func() (Room, error)) {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	feed, err := f.start(ctx, key, aud, name, room)
	o.feed, o.err = feed, err
	if err != nil {
		f.forget(key, o)
		close(o.done)
		return
	}
	close(o.done)
	stop := context.AfterFunc(ctx, func() { feed.conn.Close(errGone) })
	defer stop()
	if w, ok := feed.room.(Watcher); ok {
		defer w.Watch(func() { feed.conn.PutFree(pinged{}) })()
	}
	f.wg.Go(func() { f.watchIdle(ctx, cancel, key, o) })
	err = feed.run(ctx)
	f.forget(key, o)
	feed.conn.Close(errGone)
	feed.end(err)
}

func (f *feeds) start(ctx context.Context, key string, aud hub.Audience, name string, room func() (Room, error)) (*feed, error) {
	r, err := room()
	if err != nil {
		return nil, err
	}
	conn, err := f.hub.Connect(hub.ConnConfig{Principal: "pages", ClientID: host.FeedPrefix + key, Audience: aud})
	if err != nil {
		return nil, err
	}
	fd := &feed{name: name, epoch: f.epoch + newEpoch(), room: r, conn: conn, renders: &f.renders,
		states: States{}, changed: make(chan struct{}), ended: make(chan struct{}), idle: time.Now()}
	if err := fd.first(ctx); err != nil {
		conn.Close(errGone)
		return nil, err
	}
	return fd, nil
}

var epochs atomic.Int64

// newEpoch tells feeds of one run of the program apart.
func newEpoch() string { return "." + strconv.FormatInt(epochs.Add(1), 36) }

// watchIdle ends a feed that nobody reads.
func (f *feeds) watchIdle(ctx context.Context, cancel context.CancelFunc, key string, o *opening) {
	t := time.NewTicker(lingering / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if o.feed.unused(lingering) {
				f.forget(key, o)
				cancel()
				return
			}
		}
	}
}

func (f *feeds) forget(key string, o *opening) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[key] == o {
		delete(f.open, key)
	}
}

// join and leave count readers.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	f.idle = time.Now()
}

func (f *feed) unused(after time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers == 0 && time.Since(f.idle) > after
}
