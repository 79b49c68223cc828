package host

import (
	"context"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// longestNap bounds how long the clock sleeps: timers stand still while a machine does, so after that it looks anew.
const longestNap = time.Minute

// keepTime starts the runs that are due, until ctx ends. Without automations it only waits for one.
func (h *Host) keepTime(ctx context.Context) {
	for {
		var at time.Time
		if h.core.Do(ctx, func(tx *hub.Tx) { at = h.tick(tx) }) != nil {
			return
		}
		if !h.nap(ctx, at) {
			return
		}
	}
}

// nap sleeps until a time or until something is new; the zero time never comes.
func (h *Host) nap(ctx context.Context, at time.Time) bool {
	var due <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(min(max(at.Sub(h.core.Now()), 10*time.Millisecond), longestNap))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-h.automations.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// tick looks at every automation once, and returns when to look again.
func (h *Host) tick(tx *hub.Tx) (at time.Time) {
	now := h.core.Now()
	for _, e := range entries(tx) {
		busy := h.automations.goesOn(e.Resource)
		next, origin := automation.Due(e, now, busy)
		if next.Definition.Enabled != e.Definition.Enabled {
			next.ModifiedAt = core.Timestamp(now)
		}
		if origin != nil {
			h.newRun(tx, e.Resource, origin)
		}
		if origin != nil || next.NextRunAt != e.NextRunAt || next.Definition.Enabled != e.Definition.Enabled {
			h.putAutomation(tx, next)
		}
		if w := automation.Wake(next); !w.IsZero() && (w.After(now) || !busy) && (at.IsZero() || w.Before(at)) {
			at = w
		}
	}
	return at
}

// Automation is one entry of the catalogue.
func (h *Host) Automation(uri ahp.URI) (e ahp.AutomationEntry, ok bool) {
	all, _ := hub.StateOf[*ahp.AutomationState](h.core.Hub, ahp.AutomationsURI)
	if all == nil {
		return e, false
	}
	for _, e := range all.Entries {
		if e.Resource == uri {
			return e, true
		}
	}
	return e, false
}
