package host

import (
	"context"
	"errors"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

var errIdle = errors.New("the session went to sleep")

// janitor unloads idle sessions.
func (h *Host) janitor(ctx context.Context) {
	tick := time.NewTicker(max(h.core.Limits.Idle/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.sleepIdle(h.core.Now().Add(-h.core.Limits.Idle))
			h.Automations.SleepRuns(h.core.Now().Add(-h.core.Limits.Idle))
			h.Files.LeaveWatches(core.ClientRef{}) // also of connections whose end was not reported
			h.provisional.sweepProvisional(ctx, h.core.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (h *Host) sleepIdle(since time.Time) {
	for _, e := range h.core.Catalogue.List(false) {
		if _, _, awake := h.core.Hub.State(e.Summary.Resource); awake {
			h.sleepSession(e, since)
		}
	}
}

// sleepSession unloads the session's channels first and the session last, because their changes are
// aggregated into it. Then it closes the agent.
func (h *Host) sleepSession(e *core.Entry, since time.Time) {
	uri := e.Summary.Resource
	if l := h.turns.findRuntime(uri); l != nil && l.busy() {
		return
	}
	h.core.Hub.Sleep(core.AnnotationsURI(uri), since)
	all := true
	for _, c := range e.Summary.Chats {
		h.core.Hub.Sleep(c.Resource, since)
		_, _, awake := h.core.Hub.State(c.Resource)
		all = all && !awake
	}
	if _, _, awake := h.core.Hub.State(core.AnnotationsURI(uri)); !all || awake || !h.core.Hub.Sleep(uri, since) {
		return
	}
	h.dropIdle(uri)
	h.Customs.Release(uri)
}

// dropIdle closes the agent of an unloaded session, unless it is busy.
func (h *Host) dropIdle(session ahp.URI) {
	h.turns.mu.Lock()
	l := h.turns.runtimes[session]
	if l == nil || l.busy() {
		h.turns.mu.Unlock()
		return
	}
	delete(h.turns.runtimes, session)
	l.mu.Lock()
	l.closed = true // callers that still hold l get a new one
	l.mu.Unlock()
	h.turns.mu.Unlock()
	l.stop(errIdle)
}
