package acp

import (
	"context"
	"sync"
	"time"
)

const mostReplay = 30 * time.Second // limit for a program that is never quiet

// replays are the sessions that a program loads. Some programs answer session/load before they have
// replayed the session: later updates are no answer to the next prompt.
type replays struct {
	mu   sync.Mutex
	open map[string]*replay
}

// replay receives a signal for each update.
type replay struct{ updated chan struct{} }

func (l *replays) begin(id string) *replay {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[string]*replay{}
	}
	r := &replay{make(chan struct{}, 1)}
	l.open[id] = r
	return r
}

func (l *replays) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// note reports an update of a session.
func (l *replays) note(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.open[id]; r != nil {
		select {
		case r.updated <- struct{}{}:
		default:
		}
	}
}

// wait returns when no update has arrived for a while, or the program is gone, which the next call
// reports.
func (r *replay) wait(ctx context.Context, gone <-chan struct{}, quiet time.Duration) error {
	most := time.NewTimer(mostReplay)
	defer most.Stop()
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-r.updated:
			still.Reset(quiet)
		case <-still.C:
			return nil
		case <-most.C:
			return nil
		case <-gone:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
