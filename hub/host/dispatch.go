package host

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Dispatch runs a client's action: rights, load, table, hub. What is refused comes back in
// the outcome with its reason, and as an envelope to the client; an unknown channel is met
// with silence (AHP requirement 36). The error is for what went wrong in the host.
func (h *Host) Dispatch(ctx context.Context, c Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome, error) {
	info, known := h.hub.Info(channel)
	if !known || !c.Audience().Sees(info) {
		return hub.Outcome{Unknown: true}, nil
	}
	if err := h.wake(ctx, info); err != nil {
		if errors.Is(err, hub.ErrUnknownChannel) {
			return hub.Outcome{Unknown: true}, nil
		}
		return hub.Outcome{}, err
	}
	h.wakeAttachments(ctx, info.Session, a)
	if err := h.wakeMarks(ctx, info, a); err != nil {
		return hub.Outcome{}, err
	}
	a = h.knownVersions(ctx, c, info, a)
	check := h.lookedAt(info, a, h.checker(c, info, c.Audience().Action(info, a) == nil))
	check = h.templated(c, info, a, check)
	if c.Conn == nil {
		return h.dispatchPlain(channel, a, check)
	}
	return h.hub.Dispatch(c.Conn, channel, clientSeq, a, check), nil
}

const outOfSight = "this concerns what is not shared with you: ask the owner"

// checker asks the rights table, then the validation table. What somebody would not be told of (unseen) they do not do.
func (h *Host) checker(c Caller, info hub.ChannelInfo, unseen bool) hub.Check {
	return func(tx *hub.Tx, s ahp.State, a ahp.Action) (ahp.Action, string) {
		if err := access.MayAct(c.Principal, a.ActionType(), info); err != nil {
			return nil, err.Error()
		}
		if unseen {
			return nil, outOfSight
		}
		check := rules[a.ActionType()]
		if check == nil {
			return nil, "this host does not take " + a.ActionType() + " from clients" // AHP requirement 37
		}
		return check(&request{h: h, tx: tx, caller: c, info: info, state: s, now: h.now()}, a)
	}
}

// dispatchPlain runs an action of somebody without a connection, a plain form.
func (h *Host) dispatchPlain(channel ahp.URI, a ahp.Action, check hub.Check) (o hub.Outcome, err error) {
	err = h.hub.Do(func(tx *hub.Tx) {
		s := tx.State(channel)
		if s == nil {
			o.Unknown = true
			return
		}
		stamped, reason := check(tx, s, a)
		if o.Rejected = reason; reason != "" {
			return
		}
		if keys, ok := stamped.(*ahp.TerminalInputAction); ok {
			h.typedPlain(tx, channel, keys)
			return
		}
		o.Env = tx.Apply(channel, stamped)
		o.NoChange = o.Env == nil
	})
	return o, err
}

// Prepare makes a channel ready to be followed: rights, loading, and the first computation
// of a changeset. Call it before Conn.Subscribe. Errors are *ahp.Error.
func (h *Host) Prepare(ctx context.Context, c Caller, uri ahp.URI) error {
	info, known := h.hub.Info(uri)
	if !known {
		opened, err := h.openChangeset(ctx, c, uri)
		if err != nil {
			return err
		}
		if info, known = h.hub.Info(uri); !opened || !known {
			return h.notHere(uri)
		}
	}
	if err := mayCall(c, "subscribe", info); err != nil {
		return err
	}
	if info.Kind == ahp.ChannelResourceWatch {
		return h.followWatch(c, uri)
	}
	if err := h.wake(ctx, info); err != nil {
		if errors.Is(err, hub.ErrUnknownChannel) {
			return h.notHere(uri)
		}
		return err
	}
	if info.Kind == ahp.ChannelChangeset {
		h.changesetFollowed(uri)
	}
	h.met(c, info)
	return nil
}

func (h *Host) notHere(uri ahp.URI) error {
	if h.catalogue.get(uri) != nil || strings.HasPrefix(uri, "ahp-session:") {
		return noSession(uri)
	}
	return noChannel(uri)
}

// wake loads a channel and, before it, the session it belongs to, into which its changes
// are aggregated.
func (h *Host) wake(ctx context.Context, info hub.ChannelInfo) error {
	if info.Session != "" && info.Session != info.URI {
		if err := h.ensure(ctx, info.Session); err != nil {
			return err
		}
	}
	return h.ensure(ctx, info.URI)
}

func (h *Host) ensure(ctx context.Context, uri ahp.URI) error {
	_, _, awake := h.hub.State(uri)
	if err := h.hub.Ensure(ctx, h.loader(), uri); err != nil {
		return err
	}
	if !awake {
		h.woken(uri)
	}
	return nil
}

// woken starts the grace time of the active clients a sleeping session still lists.
func (h *Host) woken(uri ahp.URI) {
	st, _, _ := h.hub.State(uri)
	h.completeCatalogue(uri, st)
	s, ok := st.(*ahp.SessionState)
	if !ok {
		return
	}
	h.recustomize(uri)
	for _, c := range s.ActiveClients {
		h.clients.found(h, uri, c.ClientID)
	}
}

func contains(list []ahp.URI, uri ahp.URI) bool { return slices.Contains(list, uri) }
