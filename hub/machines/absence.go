package machines

import (
	"context"
	"time"
)

// Grace is how long a machine may be away from its running turns before people are told.
const Grace = time.Minute

// Absence is a machine that people were waiting for, which stays away or is back.
type Absence struct {
	Machine  Machine
	Since    time.Time // when it went
	Back     bool
	Sessions []string // URIs of those whose turns ran on it when people were first told
}

// absent is a machine that is away.
type absent struct {
	since time.Time
	told  []string // nil: nothing was said yet
}

// FollowAbsences reports each machine that stays away longer than grace while turns run on it, once, and once more when it
// is back, until ctx ends. running returns the sessions with a running turn on a machine. A machine that was not connected
// since the hub's start is not missed: the hub has ended its turns.
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

// checkAbsences looks at every machine. It returns when the next one has been away for long enough; 0 is never.
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
