package live

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/quota"
)

// Config of an Engine.
type Config struct {
	Hub *hub.Hub
	// ClientPrefix begins the clientIds under which rooms follow channels.
	ClientPrefix string
	Rooms        Table
	// Visit shows the reader of a stream to others; nil shows no reader.
	Visit     func(*http.Request, access.Principal) Visitor
	Links     *access.Links // a revoked link ends the streams of its guests; nil: there are no links
	Public    string        // address that teammates use; "" for the address that is listened on
	Sockets   *quota.Pool   // quota of open streams; nil: unlimited
	Frames    *quota.Pool   // quota of bytes of frames over 64 KiB that are being sent; nil: unlimited
	Heartbeat Heartbeat
}

// Engine runs the rooms that have had readers within idleLimit. Each room has one connection to
// the hub and one goroutine. Close stops them all and waits.
type Engine struct {
	cfg     Config
	renders atomic.Int64
	pages   atomic.Int64
	epoch   string // of this run of the program; a mark with another epoch gets the whole room

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	open   map[string]*opening
	trunks map[string]*trunk // to followers, by the trunk's name
}

// opening makes other readers of a room wait until the first one has opened it.
type opening struct {
	done chan struct{}
	feed *feed
	err  error
}

// isDeleted reports whether the room was opened, and its session or chat has been deleted since.
func (o *opening) isDeleted() bool {
	select {
	case <-o.done:
		return o.feed != nil && o.feed.deleted.Load()
	default:
		return false
	}
}

const mostRooms = 2000 // open at once, over all audiences

// New returns an engine.
func New(cfg Config) *Engine {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	if cfg.Visit == nil {
		cfg.Visit = func(*http.Request, access.Principal) Visitor { return hiddenVisitor{} }
	}
	cfg.Heartbeat = cfg.Heartbeat.withDefaults()
	e := &Engine{cfg: cfg, epoch: hex.EncodeToString(b[:]), open: map[string]*opening{},
		trunks: map[string]*trunk{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Close ends every feed and waits for its goroutine.
func (e *Engine) Close() {
	e.mu.Lock()
	e.cancel()
	e.mu.Unlock()
	e.wg.Wait()
}

// Renders returns how often live HTML was rendered, over all viewers.
func (e *Engine) Renders() int64 { return e.renders.Load() }

// Pages returns how many pages have open streams.
func (e *Engine) Pages() int64 { return e.pages.Load() }

// Draw calls draw with a room and its states at one moment and returns the mark from which its stream continues.
// name is like "chat:<session>:<chat>"; the audience of who decides what the room shows.
func (e *Engine) Draw(ctx context.Context, who access.Principal, name string, draw func(Room, States)) (
	mark string, err error) {
	for try := 0; ; try++ {
		f, err := e.feedOf(ctx, who, name)
		if err != nil {
			return "", err
		}
		mark, err = f.view(ctx, draw)
		if err == nil || try > 0 || !f.hasEnded() {
			return mark, err
		}
		// the feed ended between the two calls, as it was idle: retry with its successor
	}
}

// feedOf returns the running feed of a room for the audience of who, or starts one.
func (e *Engine) feedOf(ctx context.Context, who access.Principal, name string) (*feed, error) {
	kind, words, err := e.cfg.Rooms.find(who, name)
	if err != nil {
		return nil, err
	}
	key := who.Audience().Key() + "|" + kind.share(who) + "|" + name
	return e.get(ctx, key, start{who.Audience(), name, func() (Room, error) {
		return kind.Open(context.WithoutCancel(ctx), who, words)
	}})
}

// start holds what starting a feed needs.
type start struct {
	audience hub.Audience
	name     string
	open     func() (Room, error)
}

// get returns the running feed of a key, or starts one.
func (e *Engine) get(ctx context.Context, key string, s start) (*feed, error) {
	e.mu.Lock()
	o := e.open[key]
	if o == nil || o.isDeleted() {
		if len(e.open) >= mostRooms {
			e.mu.Unlock()
			return nil, ErrBusy
		}
		o = &opening{done: make(chan struct{})}
		e.open[key] = o
		e.wg.Go(func() { e.run(key, o, s) })
	}
	e.mu.Unlock()
	select {
	case <-o.done:
		return o.feed, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run is the goroutine of one feed, from its first reader until it has been idle for idleLimit.
func (e *Engine) run(key string, o *opening, s start) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	feed, err := e.start(ctx, cancel, key, s)
	o.feed, o.err = feed, err
	if err != nil {
		e.forget(key, o)
		close(o.done)
		return
	}
	close(o.done)
	stop := context.AfterFunc(ctx, func() { feed.conn.Close(ErrGone) })
	defer stop()
	if w, ok := feed.room.(Watcher); ok {
		defer w.Watch(func() { feed.conn.PutFree(pinged{}) })()
	}
	e.wg.Go(func() { e.watchIdle(ctx, cancel, key, o) })
	err = feed.run(ctx)
	if feed.deleted.Load() {
		err = ErrGone
	}
	e.forget(key, o)
	feed.conn.Close(ErrGone)
	feed.finish(err)
}

func (e *Engine) start(ctx context.Context, end func(), key string, s start) (*feed, error) {
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	f := &feed{name: s.name, epoch: e.epoch + newEpoch(), room: r, renders: &e.renders, hub: e.cfg.Hub,
		states: States{}, wakes: map[chan<- struct{}]bool{}, ended: make(chan struct{}), idle: time.Now()}
	closed := func(ch hub.ChannelInfo) {
		if ch.Kind == ahp.ChannelSession || ch.Kind == ahp.ChannelChat { // others close and reopen within a session
			f.deleted.Store(true)
			end()
		}
	}
	f.conn, err = e.cfg.Hub.Connect(hub.ConnConfig{Principal: "pages", ClientID: e.cfg.ClientPrefix + key, Audience: s.audience,
		Closed: closed})
	if err != nil {
		return nil, err
	}
	if err := f.subscribe(ctx); err != nil {
		f.conn.Close(ErrGone)
		return nil, err
	}
	return f, nil
}

var epochs atomic.Int64

// newEpoch returns a name that is unique among the feeds of one run of the program.
func newEpoch() string { return "." + strconv.FormatInt(epochs.Add(1), 36) }

// watchIdle ends a feed that has had no readers for idleLimit.
func (e *Engine) watchIdle(ctx context.Context, cancel context.CancelFunc, key string, o *opening) {
	t := time.NewTicker(idleLimit / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if o.feed.isIdle(idleLimit) {
				e.forget(key, o)
				cancel()
				return
			}
		}
	}
}

func (e *Engine) forget(key string, o *opening) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[key] == o {
		delete(e.open, key)
	}
}

// join adds a reader, which is woken for each new frame until leave.
func (f *feed) join(wake chan<- struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakes[wake] = true
}

func (f *feed) leave(wake chan<- struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wakes, wake)
	f.idle = time.Now()
}

// isIdle reports whether the feed has had no reader for some time.
func (f *feed) isIdle(after time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.wakes) == 0 && time.Since(f.idle) > after
}
