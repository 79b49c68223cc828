package core

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Config configures a Core.
type Config struct {
	Hub    *hub.Hub
	Store  Store // nil disables loading, so that no channel is unloaded
	Log    *slog.Logger
	Now    func() time.Time
	Limits Limits
}

// Core is what every part of the host uses: the timeline, the catalogue of sessions, lanes for
// effects, and goroutines that end with the host.
//
// Lock order: the hub's lock, then a part's own, then the catalogue's. No lock is held during I/O,
// and a part's lock is never held during a call into the hub.
type Core struct {
	Hub       *hub.Hub
	Store     Store
	Log       *slog.Logger
	Now       func() time.Time
	Limits    Limits
	Lanes     *Lanes
	Catalogue Catalogue
	Ctx       context.Context // cancelled with cause ErrStopping when the host stops

	// Woken is called after a channel is loaded.
	Woken func(uri ahp.URI)

	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards waiting
	waiting bool       // Wait was called; no goroutine may start
	wg      sync.WaitGroup
}

// New returns a Core. Zero fields of cfg get their defaults.
func New(cfg Config) *Core {
	c := &Core{Hub: cfg.Hub, Store: cfg.Store, Log: cfg.Log, Now: cfg.Now, Limits: cfg.Limits.withDefaults(),
		Lanes:     NewLanes(),
		Catalogue: NewCatalogue(), Woken: func(ahp.URI) {}}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Go runs f in a goroutine that Wait waits for. After Wait was called, it does nothing.
func (c *Core) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.waiting {
		c.wg.Go(f)
	}
}

// Stop cancels Ctx.
func (c *Core) Stop() { c.cancel(ErrStopping) }

// Wait blocks until every goroutine started by Go has ended. Call Stop first.
func (c *Core) Wait() {
	c.mu.Lock()
	c.waiting = true
	c.mu.Unlock()
	c.wg.Wait()
}

// ErrStopping is the cause of cancelled contexts when the host stops.
var ErrStopping = errors.New("the server is stopping")

// Do runs f as one step of the timeline. It retries while the journal cannot be written, so that
// agents pause instead of losing output.
func (c *Core) Do(ctx context.Context, f func(*hub.Tx)) error {
	for {
		err := c.Hub.Do(f)
		if !errors.Is(err, hub.ErrReadOnly) {
			return err
		}
		if err := Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// Sleep waits for d, or returns the cause of ctx if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Timestamp formats a time as the protocol does.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// MustOpen opens a channel with a URI that the host generated, so that it cannot be in use.
func (c *Core) MustOpen(tx *hub.Tx, info hub.ChannelInfo, s ahp.State) {
	if err := tx.Open(info, s); err != nil {
		c.Log.Error("a channel cannot be opened", "channel", info, "err", err)
	}
}

// RootState returns the state of the root channel. Do not call it under the hub's lock.
func (c *Core) RootState() *ahp.RootState {
	if root, ok := hub.StateOf[*ahp.RootState](c.Hub, ahp.RootURI); ok {
		return root
	}
	return &ahp.RootState{}
}
