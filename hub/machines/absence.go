package machines

import (
	"context"
	"time"
)

// Grace is how long a machine with running turns may be offline before people are notified.
const Grace = time.Minute

// Absence is a machine with running turns that stays offline, or has reconnected.
type Absence struct {
	Machine  Machine
	Since    time.Time // when it disconnected
	Back     bool
	Sessions []string // URIs of the sessions with running turns at the first notification
}

// absent is a machine that is offline.
type absent struct {
	since time.Time
	told  []string // sessions of the first notification; nil: none yet
}

// FollowAbsences reports each machine that stays offline longer than grace while turns run on it, and again when it
// reconnects, until ctx ends. running returns the sessions with a running turn on a machine. It ignores machines that
// have not connected since the hub's start: the hub has ended their turns.
func (r *Registry) FollowAbsences(ctx context.Context, grace time.Duration, running func(id string) []string,
	tell func(Absence)) {
	changed, cancel := r.Watch()
	defer cancel()
	away := map[string]*absent{}
	for {
		next := r.checkAbsences(away, grace, running, tell)
		var timeout <-chan time.Time
		if next > 0 {
			timeout = time.After(next)
		}
		select {
		case <-changed:
		case <-timeout:
		case <-ctx.Done():
			return
		}
	}
}

// checkAbsences checks every machine. It returns the time until the next one has been offline long enough, or 0.
func (r *Registry) checkAbsences(away map[string]*absent, grace time.Duration, running func(id string) []string,
	tell func(Absence)) (next time.Duration) {
	now := r.cfg.Now()
	known := map[string]bool{}
	for _, s := range r.List() {
		known[s.ID] = true
		a := away[s.ID]
		switch {
		case s.Online:
			delete(away, s.ID)
			if a != nil && len(a.told) > 0 {
				tell(Absence{Machine: s.Machine, Since: a.since, Back: true, Sessions: a.told})
			}
			continue
		case s.Connections == 0:
			continue
		case a == nil:
			a = &absent{since: s.Since}
			away[s.ID] = a
		}
		if a.told != nil {
			continue
		}
		if left := grace - now.Sub(a.since); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		a.told = append([]string{}, running(s.ID)...)
		if len(a.told) > 0 {
			tell(Absence{Machine: s.Machine, Since: a.since, Sessions: a.told})
		}
	}
	for id := range away {
		if !known[id] {
			delete(away, id) // it was revoked
		}
	}
	return next
}
