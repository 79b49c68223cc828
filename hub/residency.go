package hub

import (
	"context"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Loaded is a sleeping channel as stored.
type Loaded struct {
	State       ahp.State
	Last, Floor int64
	Window      []*Envelope // everything after Floor, in order
}

// Loader reads sleeping channels; it is called without the hub's lock.
type Loader interface {
	Load(ctx context.Context, uri ahp.URI) (Loaded, error)
}

// Ensure makes a channel resident, so that actions and subscriptions reach it. It also keeps the
// channel awake for the next idle period.
func (h *Hub) Ensure(ctx context.Context, from Loader, uri ahp.URI) error {
	known, awake := h.touch(uri)
	if !known {
		return fmt.Errorf("%s: %w", uri, ErrUnknownChannel)
	}
	if awake {
		return nil
	}
	loaded, err := from.Load(ctx, uri)
	if err != nil {
		return fmt.Errorf("load %s: %w", uri, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil {
		return fmt.Errorf("%s: %w", uri, ErrUnknownChannel)
	}
	if ch.isAsleep() { // unchanged meanwhile: only resident channels take actions
		ch.state, ch.last = loaded.State, loaded.Last
		ch.window = window{envs: loaded.Window, floor: loaded.Floor}
		for _, e := range loaded.Window {
			e.estimate = estimateSize(e.Action)
			ch.window.bytes += e.estimate
		}
	}
	return nil
}

func (h *Hub) touch(uri ahp.URI) (known, awake bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil {
		return false, false
	}
	ch.touched = h.now()
	return true, !ch.isAsleep()
}

// Sleep removes a channel from memory if no connection follows it, all of it is durable, and it was
// not used since the time given.
func (h *Hub) Sleep(uri ahp.URI, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil || ch.isAsleep() || len(ch.subs) > 0 || ch.pos > h.durable.Load() || !h.journal.on {
		return false
	}
	if ch.touched.After(since) {
		return false
	}
	ch.state, ch.window = nil, window{floor: ch.window.floor}
	return true
}
