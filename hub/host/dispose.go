package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// trashed is a disposed session as stored for RestoreSession.
type trashed struct {
	Entry    core.Entry     `json:"entry"`
	Channels []trashChannel `json:"channels"`
}

type trashChannel struct {
	Info  hub.ChannelInfo `json:"info"`
	State json.RawMessage `json:"state"`
}

// DisposeSession disposes a session: its turns are cancelled, its agent and terminals stop, its
// channels close, and root's subscribers are notified (AHP requirement 78). RestoreSession can undo
// it.
func (h *Host) DisposeSession(ctx context.Context, c core.Caller, p ahp.DisposeSessionParams) error {
	info, known := h.core.Hub.Info(p.Channel)
	if !known || info.Kind != ahp.ChannelSession || !c.Audience().Sees(info) {
		return core.NoSession(p.Channel)
	}
	if err := c.MayCall("disposeSession", info); err != nil {
		return err
	}
	if !h.disposing.claim(info.URI) {
		return core.NoSession(p.Channel) // another caller is disposing it
	}
	defer h.disposing.release(info.URI)
	if e := h.core.Catalogue.Get(info.URI); e != nil {
		h.Automations.WakeRun(ctx, e.Summary)
	}
	channels, err := h.endTurns(ctx, info)
	if err != nil {
		return err
	}
	for range 100 { // retry after a concurrent change
		raw, states, err := h.pack(info.URI, channels)
		if err != nil {
			return err
		}
		var done bool
		if err := h.core.Hub.Do(func(tx *hub.Tx) { done = h.closeSession(tx, info.URI, raw, states) }); err != nil ||
			done {
			return err
		}
	}
	return ahp.Errorf(ahp.CodeConflict, "this session keeps changing. Try again in a moment")
}

// endTurns cancels the session's turns and loads every channel that the trash keeps.
func (h *Host) endTurns(ctx context.Context, info hub.ChannelInfo) ([]hub.ChannelInfo, error) {
	if err := h.core.Ensure(ctx, info.URI); err != nil {
		return nil, err
	}
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, info.URI)
	if !ok {
		return nil, core.NoSession(info.URI)
	}
	channels := []hub.ChannelInfo{info, {URI: core.AnnotationsURI(info.URI), Kind: ahp.ChannelAnnotations,
		Session: info.URI}}
	for _, c := range s.Chats {
		channels = append(channels, hub.ChannelInfo{URI: c.Resource, Kind: ahp.ChannelChat, Session: info.URI})
	}
	for _, ch := range channels {
		if err := h.core.Ensure(ctx, ch.URI); err != nil {
			return nil, err
		}
	}
	return channels, h.core.Hub.Do(func(tx *hub.Tx) {
		for _, ch := range channels {
			if chat, ok := hub.StateOf[*ahp.ChatState](tx, ch.URI); ok && chat.ActiveTurn != nil {
				tx.Apply(ch.URI, &ahp.ChatTurnCancelledAction{TurnID: chat.ActiveTurn.ID,
					Duration: core.Elapsed(chat.ActiveTurn, h.core.Now())})
			}
		}
	})
}

// pack encodes the session's channels, without the hub's lock.
func (h *Host) pack(uri ahp.URI, channels []hub.ChannelInfo) (raw []byte, states map[ahp.URI]ahp.State, err error) {
	e := h.core.Catalogue.Alive(uri)
	if e == nil {
		return nil, nil, core.NoSession(uri)
	}
	t, states := trashed{Entry: *e}, map[ahp.URI]ahp.State{}
	for _, ch := range channels {
		s, _, ok := h.core.Hub.State(ch.URI)
		if !ok {
			return nil, nil, fmt.Errorf("%s went away meanwhile", ch)
		}
		body, err := json.Marshal(s)
		if err != nil {
			return nil, nil, err
		}
		states[ch.URI] = s
		t.Channels = append(t.Channels, trashChannel{ch, body})
	}
	raw, err = json.Marshal(t)
	return raw, states, err
}

// closeSession closes the session in one step, or returns false if it changed after it was packed.
func (h *Host) closeSession(tx *hub.Tx, uri ahp.URI, raw []byte, packed map[ahp.URI]ahp.State) bool {
	for ch, s := range packed {
		if tx.State(ch) != s {
			return false
		}
	}
	old := h.core.Catalogue.Alive(uri)
	if old == nil {
		return true
	}
	gone := *old
	gone.Trashed = core.Timestamp(h.core.Now())
	h.Changes.CloseAll(tx, uri)
	h.Terminals.CloseSession(tx, uri)
	h.clients.UnlistAll(tx, uri)
	for ch := range packed {
		tx.Close(ch)
	}
	h.core.Save(tx, &gone)
	h.trash.put(uri, raw)
	tx.Record(bucketTrash, uri, raw)
	h.notices.notifyRemoved(tx, uri)
	h.Automations.UnlinkSession(tx, gone.Summary)
	h.emptyTrash(tx)
	tx.Effect(uri, func(context.Context) {
		h.turns.drop(uri, errDisposed)
		h.provisional.forget(uri)
		if h.core.Store != nil {
			h.trash.drop(uri) // Store has it now
		}
	})
	return true
}

// emptyTrash deletes the sessions disposed first while there are more than the limit.
func (h *Host) emptyTrash(tx *hub.Tx) {
	for h.core.Catalogue.Count(true) > h.core.Limits.Trash {
		oldest := h.core.Catalogue.OldestTrash()
		h.core.Catalogue.Remove(oldest)
		h.trash.drop(oldest)
		tx.Record(bucketTrash, oldest, nil)
		tx.Record(core.BucketSessions, oldest, nil)
		h.Threads.ForgetReview(tx, oldest)
		h.Customs.ForgetDecisions(tx, oldest)
		tx.Effect(oldest, func(ctx context.Context) { h.provisional.forgetSession(ctx, oldest) })
	}
}

func (h *Host) agentData(session ahp.URI) string {
	return filepath.Join(h.cfg.DataDir, "agents", core.ShortID(session))
}

// Disposed is a session that can be restored.
type Disposed struct {
	ahp.SessionSummary
	At string // when it was disposed, ISO 8601
}

// Trash lists the sessions that can be restored, the last disposed first.
func (h *Host) Trash(c core.Caller) []Disposed {
	if !c.IsOwner() {
		return nil
	}
	list := h.core.Catalogue.List(true)
	out := make([]Disposed, len(list))
	for i, e := range list {
		out[i] = Disposed{e.Summary, e.Trashed}
	}
	slices.SortStableFunc(out, func(a, b Disposed) int { return cmp.Compare(b.At, a.At) })
	return out
}

// TrashLimit returns how many disposed sessions are kept.
func (h *Host) TrashLimit() int { return h.core.Limits.Trash }

// RestoreSession undoes DisposeSession, with the same URIs and history. Changesets are computed
// again; terminals are not restored.
func (h *Host) RestoreSession(ctx context.Context, c core.Caller, uri ahp.URI) error {
	if err := c.MayCall("createSession", core.RootInfo); err != nil {
		return err
	}
	if e := h.core.Catalogue.Get(uri); e == nil || e.Trashed == "" {
		return core.NoSession(uri)
	}
	t, err := h.unpack(ctx, uri)
	if err != nil {
		return err
	}
	states, err := t.states()
	if err != nil {
		return err
	}
	return h.core.Hub.Do(func(tx *hub.Tx) { h.reopen(tx, uri, t, states) })
}

func (h *Host) unpack(ctx context.Context, uri ahp.URI) (t trashed, err error) {
	raw, ok := h.trash.get(uri)
	if !ok && h.core.Store != nil {
		if raw, ok, err = h.core.Store.Get(ctx, bucketTrash, uri); err != nil {
			return t, err
		}
	}
	if !ok {
		return t, core.NoSession(uri)
	}
	return t, json.Unmarshal(raw, &t)
}

func (t trashed) states() ([]ahp.State, error) {
	states := make([]ahp.State, len(t.Channels))
	for i, c := range t.Channels {
		s, err := ahp.UnmarshalState(c.Info.Kind, c.State)
		if err != nil {
			return nil, fmt.Errorf("restore %s: %w", c.Info, err)
		}
		if session, ok := s.(*ahp.SessionState); ok {
			session.ActiveClients = []ahp.SessionActiveClient{} // all have disconnected
		}
		states[i] = s
	}
	return states, nil
}

func (h *Host) reopen(tx *hub.Tx, uri ahp.URI, t trashed, states []ahp.State) {
	if e := h.core.Catalogue.Get(uri); e == nil || e.Trashed == "" {
		return // another caller restored it first
	}
	for i, c := range t.Channels {
		h.core.MustOpen(tx, c.Info, states[i])
	}
	back := t.Entry
	back.Trashed = ""
	h.core.Save(tx, &back)
	h.trash.drop(uri)
	tx.Record(bucketTrash, uri, nil)
	h.notices.notifyAdded(tx, back.Summary)
}
