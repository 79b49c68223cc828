package automations

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// maxWait limits the clock's waits, because timers stop while a machine sleeps.
const maxWait = time.Minute

// KeepTime starts due runs until ctx ends.
func (p *Part) KeepTime(ctx context.Context) {
	for {
		var at time.Time
		if p.core.Do(ctx, func(tx *hub.Tx) { at = p.startDue(tx) }) != nil {
			return
		}
		if !p.waitUntil(ctx, at) {
			return
		}
	}
}

// waitUntil waits for a time or a changed entry, and returns false if ctx ends. The zero time means
// no time.
func (p *Part) waitUntil(ctx context.Context, at time.Time) bool {
	var due <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(min(max(at.Sub(p.core.Now()), 10*time.Millisecond), maxWait))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-p.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// startDue opens the runs that are due, and returns when to check again.
func (p *Part) startDue(tx *hub.Tx) (at time.Time) {
	now := p.core.Now()
	for _, e := range listEntries(tx) {
		busy := p.registry.hasOpenRun(e.Resource)
		next, origin := automation.Due(e, now, busy)
		if next.Definition.Enabled != e.Definition.Enabled {
			next.ModifiedAt = core.Timestamp(now)
		}
		if origin != nil {
			p.openRun(tx, e.Resource, origin)
		}
		if origin != nil || next.NextRunAt != e.NextRunAt || next.Definition.Enabled != e.Definition.Enabled {
			p.putEntry(tx, next)
		}
		if w := automation.Wake(next); !w.IsZero() && (w.After(now) || !busy) && (at.IsZero() || w.Before(at)) {
			at = w
		}
	}
	return at
}

// wakeClock has the clock check the entries again.
func (p *Part) wakeClock() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
