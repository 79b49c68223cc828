package files

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	mostWatches  = 256
	watchUnused  = time.Minute     // timeout for a new watch's first subscriber
	watchJoining = 5 * time.Second // timeout between Prepare and Conn.Subscribe
)

// watches holds the watched files and directories. A watch exists while its channel has subscribers
// (AHP requirements 182 and 183).
type watches struct {
	mu     sync.Mutex
	closed bool
	open   map[ahp.URI]*watch
}

type watch struct {
	cancel  context.CancelFunc
	joining map[core.ClientRef]time.Time // clients about to subscribe, with their timeouts
}

// CreateResourceWatch handles createResourceWatch. Each call gets its own channel (AHP requirement
// 182).
func (p *Part) CreateResourceWatch(ctx context.Context, c core.Caller, params ahp.CreateResourceWatchParams) (
	ahp.CreateResourceWatchResult, error,
) {
	none := ahp.CreateResourceWatchResult{}
	reach, err := p.reach(c, "createResourceWatch") // AHP requirement 184
	if err != nil {
		return none, p.withGrantHint(ctx, c, params.URI, false, err)
	}
	if err := p.roomForWatch(); err != nil {
		return none, err
	}
	files, err := p.cfg.Files.Watch(ctx, reach, params)
	if err != nil {
		return none, p.withGrantHint(ctx, c, params.URI, false, err)
	}
	uri := "ahp-resource-watch:/" + strings.ToLower(rand.Text())
	if err := p.core.Do(ctx, func(tx *hub.Tx) { err = tx.Open(WatchInfo(uri), watchState(params)) }); err != nil {
		return none, errors.Join(err, files.Close())
	}
	if err = errors.Join(err, p.startWatch(c, uri, params.URI, files)); err != nil {
		return none, errors.Join(err, files.Close())
	}
	return ahp.CreateResourceWatchResult{Channel: uri}, nil
}

// WatchInfo describes the channel of a watch.
func WatchInfo(uri ahp.URI) hub.ChannelInfo {
	return hub.ChannelInfo{URI: uri, Kind: ahp.ChannelResourceWatch}
}

func watchState(p ahp.CreateResourceWatchParams) *ahp.ResourceWatchState {
	return &ahp.ResourceWatchState{Root: p.URI, Recursive: p.Recursive != nil && *p.Recursive,
		Includes: p.Includes, Excludes: p.Excludes}
}

func (p *Part) roomForWatch() error {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	if len(p.watches.open) >= mostWatches {
		return ahp.Errorf(ahp.CodeInvalidRequest,
			"there are %d watches, which is the most: unsubscribe from some first", mostWatches)
	}
	return nil
}

func (p *Part) startWatch(c core.Caller, uri, root ahp.URI, files machine.FileWatch) error {
	ctx, cancel := context.WithCancel(p.core.Ctx)
	ws := &p.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		cancel()
		return core.ErrStopping
	}
	if ws.open == nil {
		ws.open = map[ahp.URI]*watch{}
	}
	ws.open[uri] = &watch{cancel: cancel, joining: map[core.ClientRef]time.Time{c.Ref(): p.core.Now().Add(watchUnused)}}
	p.core.Go(func() {
		defer cancel()
		p.tellChanges(ctx, uri, files, func() bool {
			now, err := p.reach(c, "createResourceWatch")
			open := err == nil && p.cfg.Files.CheckOpen(ctx, now, root, false) == nil
			if !open {
				p.dropWatch(uri)
			}
			return open
		})
	})
	return nil
}

// dropWatch releases a watch despite subscribers, as its files are no longer open to them.
func (p *Part) dropWatch(uri ahp.URI) {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	if w := p.watches.open[uri]; w != nil {
		delete(p.watches.open, uri)
		w.cancel()
	}
}

// tellChanges sends a watch's changes until it is released, then closes its channel. Access may end
// at any time, for example when the session is disposed; then no more changes are sent (AHP
// requirement 184).
func (p *Part) tellChanges(ctx context.Context, uri ahp.URI, files machine.FileWatch, open func() bool) {
	files.Run(ctx, func(batch []ahp.ResourceChange) {
		if !open() {
			return
		}
		_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only if the watch has ended
			tx.Apply(uri, &ahp.ResourceWatchChangedAction{Changes: ahp.ResourceChangeCollection{Items: batch}})
		})
	})
	// fails only if the host stops; the next start closes it
	_ = p.core.Do(p.core.Ctx, func(tx *hub.Tx) { tx.Close(uri) })
}

// FollowWatch keeps a watch open for a client that is about to subscribe.
func (p *Part) FollowWatch(c core.Caller, uri ahp.URI) error {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	w := p.watches.open[uri]
	if w == nil {
		return core.NoChannel(uri)
	}
	w.joining[c.Ref()] = p.core.Now().Add(watchJoining)
	return nil
}

// LeaveWatches releases watches without subscribers after a client left uris, or all if none are
// named.
func (p *Part) LeaveWatches(client core.ClientRef, uris ...ahp.URI) {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	for uri, w := range p.watches.open {
		if len(uris) == 0 || slices.Contains(uris, uri) {
			delete(w.joining, client)
		}
		if !w.isAwaited(p.core.Now()) && p.core.Hub.CountFollowers(uri) == 0 {
			delete(p.watches.open, uri)
			w.cancel()
		}
	}
}

func (w *watch) isAwaited(now time.Time) bool {
	for _, until := range w.joining {
		if now.Before(until) {
			return true
		}
	}
	return false
}

// Close ends all watches and prevents new ones.
func (p *Part) Close() {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	p.watches.closed = true
	for _, w := range p.watches.open {
		w.cancel()
	}
}

// Recover closes watches of the last run. Subscribers must create new ones.
func (p *Part) Recover(ctx context.Context) error {
	left := p.core.Hub.OfKind(ahp.ChannelResourceWatch)
	if len(left) == 0 {
		return nil
	}
	return p.core.Do(ctx, func(tx *hub.Tx) {
		for _, uri := range left {
			tx.Close(uri)
		}
	})
}
