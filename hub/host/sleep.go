package host

import (
	"context"
	"errors"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

var errIdle = errors.New("the session went to sleep")

// janitor lets idle sessions leave memory.
func (h *Host) janitor(ctx context.Context) {
	tick := time.NewTicker(max(h.core.Limits.Idle/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.sleepIdle(h.core.Now().Add(-h.core.Limits.Idle))
			h.Automations.SleepRuns(h.core.Now().Add(-h.core.Limits.Idle))
			h.Files.LeaveWatches(core.ClientRef{}) // what no end of a connection has told of
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

// sleepSession puts the channels to sleep first and the session last, because what happens
// on them is aggregated into it; then its agent is closed.
func (h *Host) sleepSession(e *core.Entry, since time.Time) {
	uri := e.Summary.Resource
	if l := h.turns.liveIf(uri); l != nil && l.busy() {
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

// dropIdle closes the agent of a session that sleeps, unless a turn came in between.
func (h *Host) dropIdle(session ahp.URI) {
	h.turns.mu.Lock()
	l := h.turns.live[session]
	if l == nil || l.busy() {
		h.turns.mu.Unlock()
		return
	}
	delete(h.turns.live, session)
	l.mu.Lock()
	l.closed = true // callers that still hold it get a new one
	l.mu.Unlock()
	h.turns.mu.Unlock()
	l.stop(errIdle)
}
