package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// recover reads the catalogue, and ends what was cut off when the host last stopped: a
// turn in flight becomes an error its reader can resume (AHP requirement 13), a session
// that was being made is tried again. Transcripts of all others stay on disk.
func (h *Host) recover(ctx context.Context) error {
	if err := h.readCatalogue(ctx); err != nil {
		return err
	}
	h.recovering.Store(true) // what was queued waits for somebody to look
	defer h.recovering.Store(false)
	for _, e := range h.catalogue.list(false) {
		if err := h.recoverSession(ctx, e); err != nil {
			h.log.Error("a session cut off by a crash could not be mended", "session", e.Summary.Resource, "err", err)
		}
	}
	if err := h.recoverTerminals(ctx); err != nil {
		return err
	}
	if err := h.recoverBackground(ctx); err != nil {
		return err
	}
	if err := h.recoverWatches(ctx); err != nil {
		return err
	}
	return h.do(ctx, h.countSessions)
}

func (h *Host) readCatalogue(ctx context.Context) error {
	if h.cfg.Store == nil {
		return nil
	}
	records, err := h.cfg.Store.Records(ctx, bucketSessions)
	if err != nil {
		return fmt.Errorf("read the sessions: %w", err)
	}
	for _, r := range records {
		e := new(entry)
		if err := json.Unmarshal(r.Value, e); err != nil {
			return fmt.Errorf("read session %s: %w", r.Key, err)
		}
		h.catalogue.put(r.Key, e)
	}
	return nil
}

// cutOff tells from the entry alone whether something was going on.
func cutOff(e *entry) bool {
	if e.Lifecycle == ahp.SessionLifecycleCreating || inFlight(e.Summary.Status) {
		return true
	}
	for _, c := range e.Summary.Chats {
		if c.Status != nil && inFlight(*c.Status) {
			return true
		}
	}
	return false
}

func inFlight(s ahp.SessionStatus) bool { return s.Has(ahp.SessionStatusInProgress) }

func (h *Host) recoverSession(ctx context.Context, e *entry) error {
	if !cutOff(e) {
		return nil
	}
	uri := e.Summary.Resource
	if err := h.ensure(ctx, uri); err != nil {
		return err
	}
	for _, c := range e.Summary.Chats {
		if err := h.ensure(ctx, c.Resource); err != nil {
			return err
		}
		if err := h.do(ctx, func(tx *hub.Tx) { h.endCutOff(tx, c.Resource) }); err != nil {
			return err
		}
	}
	if e.Lifecycle == ahp.SessionLifecycleCreating {
		h.begin(uri)
	}
	return nil
}

// endCutOff ends a turn nobody plays any more; the reducer cancels its tool calls. How
// long it ran nobody knows.
func (h *Host) endCutOff(tx *hub.Tx, chat ahp.URI) {
	s, ok := tx.State(chat).(*ahp.ChatState)
	if !ok || s.ActiveTurn == nil {
		return
	}
	tx.Apply(chat, turnError(s.ActiveTurn.ID, 0, "interrupted",
		"The host stopped while this turn ran. What it had done so far stands above; resume it to go on.", true))
}
