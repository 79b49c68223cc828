package host

import (
	"context"
	"errors"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Dispatch runs a client's action: rights, loading, validation table, hub. A rejection is in the
// outcome with its reason, and in an envelope to the client. Actions for unknown channels are
// ignored (AHP requirement 36). The error is for failures of the host.
func (h *Host) Dispatch(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64,
	a ahp.Action) (hub.Outcome, error) {
	info, known := h.core.Hub.Info(channel)
	if !known || !c.Audience().Sees(info) {
		return hub.Outcome{Unknown: true}, nil
	}
	if err := h.core.Wake(ctx, info); err != nil {
		if errors.Is(err, hub.ErrUnknownChannel) {
			return hub.Outcome{Unknown: true}, nil
		}
		return hub.Outcome{}, err
	}
	h.wakeAttachments(ctx, info.Session, a)
	if err := h.Changes.LoadMarks(ctx, info, a); err != nil {
		return hub.Outcome{}, err
	}
	a = h.Threads.QuoteLines(ctx, c, info, h.Threads.ReplaceVersions(ctx, c, info, a))
	check := h.checkDirs(ctx, info, a, h.checker(c, info, c.Audience().Action(info, a) == nil))
	check = h.cfg.Audit.Action(ctx, c.Principal, channel, h.Automations.CheckBeforeStep(ctx, c, info, a, check))
	if c.Conn == nil {
		return h.dispatchPlain(channel, a, check)
	}
	return h.core.Hub.Dispatch(c.Conn, channel, clientSeq, a, check), nil
}

const notShared = "you don't have access to this. Ask the owner"

// checker returns the check of an action: the rights table, then the validation table. It rejects
// actions that the caller does not see (hidden).
func (h *Host) checker(c core.Caller, info hub.ChannelInfo, hidden bool) hub.Check {
	return func(tx *hub.Tx, s ahp.State, a ahp.Action) (ahp.Action, string) {
		if err := access.MayAct(c.Principal, a.ActionType(), info); err != nil {
			return nil, err.Error()
		}
		if hidden {
			return nil, notShared
		}
		check := h.rules[a.ActionType()]
		if check == nil {
			return nil, "this server does not accept " + a.ActionType() + " from clients" // AHP requirement 37
		}
		return check(&core.Request{Tx: tx, Caller: c, Info: info, State: s, Now: h.core.Now()}, a)
	}
}

// dispatchPlain runs an action of a caller without a connection, such as an HTML form.
func (h *Host) dispatchPlain(channel ahp.URI, a ahp.Action, check hub.Check) (o hub.Outcome, err error) {
	err = h.core.Hub.Do(func(tx *hub.Tx) {
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
			h.Terminals.TypePlain(tx, channel, keys)
			return
		}
		o.Env = tx.Apply(channel, stamped)
		o.NoChange = o.Env == nil
	})
	return o, err
}

// Prepare makes a channel ready for subscribers: rights, loading, and the first computation of a
// changeset. Call it before Conn.Subscribe. Errors are *ahp.Error.
func (h *Host) Prepare(ctx context.Context, c core.Caller, uri ahp.URI) error {
	info, known := h.core.Hub.Info(uri)
	if !known {
		opened, err := h.Changes.Open(ctx, c, uri)
		if err != nil {
			return err
		}
		if info, known = h.core.Hub.Info(uri); !opened || !known {
			return h.unknownURI(uri)
		}
	}
	if err := c.MayCall("subscribe", info); err != nil {
		return err
	}
	if info.Kind == ahp.ChannelResourceWatch {
		return h.Files.FollowWatch(c, uri)
	}
	if err := h.core.Wake(ctx, info); err != nil {
		if errors.Is(err, hub.ErrUnknownChannel) {
			return h.unknownURI(uri)
		}
		return err
	}
	switch info.Kind {
	case ahp.ChannelChangeset:
		h.Changes.Follow(uri)
	case ahp.ChannelSession:
		if err := h.wakeCounted(ctx, c, uri); err != nil {
			return err
		}
	}
	h.Threads.RememberVisitor(c, info)
	return nil
}

// wakeCounted loads the channels that a guest's snapshot of a session counts: the threads, and the
// changeset shared with the guest. For all other callers, the catalogue has the counts.
func (h *Host) wakeCounted(ctx context.Context, c core.Caller, session ahp.URI) error {
	if c.Principal.Scope.IsWhole() {
		return nil
	}
	for _, uri := range []ahp.URI{core.AnnotationsURI(session), c.Principal.Scope.URI} {
		if err := h.core.Ensure(ctx, uri); err != nil && !errors.Is(err, hub.ErrUnknownChannel) {
			return err
		}
	}
	return nil
}

// unknownURI returns the error for a URI that names no channel.
func (h *Host) unknownURI(uri ahp.URI) error {
	if h.core.Catalogue.Get(uri) != nil || strings.HasPrefix(uri, "ahp-session:") {
		return core.NoSession(uri)
	}
	return core.NoChannel(uri)
}

// woken starts the grace time of the active clients that a loaded session lists.
func (h *Host) woken(uri ahp.URI) {
	st, _, _ := h.core.Hub.State(uri)
	h.Changes.CompleteCatalogue(uri, st)
	s, ok := st.(*ahp.SessionState)
	if !ok {
		return
	}
	h.Customs.Refresh(uri)
	for _, c := range s.ActiveClients {
		h.clients.Woken(uri, c.ClientID)
	}
}

// SessionByShort returns the session of a ShortID unless it is disposed.
func (h *Host) SessionByShort(short string) (ahp.URI, bool) { return h.core.SessionByShort(short) }
