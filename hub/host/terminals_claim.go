package host

import (
	"context"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Bounds of asking for a terminal.
const (
	mostAsks  = 32              // people who ask for one terminal at once
	askExpiry = 5 * time.Minute // an ask nobody answered, and a refusal, is forgotten then
)

// TerminalAsk is somebody who would like to hold a terminal that another client holds. The protocol
// has no shape for it: it is the host's own state, in memory, for pages.
type TerminalAsk struct {
	Client string        // the clientId that would hold it; PageOwner tells whose pages it stands for
	By     core.Identity // who asks
	At     time.Time     // when they asked, or were refused
	Denied bool          // the holder said no; it stays to be read until they ask again
}

// AskTerminal asks the holder of a terminal for it. A terminal that no client holds is the
// caller's at once, as by terminal/claimed.
//
// Errors: -32602 it has exited, or too many ask; -32008 no such terminal; -32009 not allowed.
func (h *Host) AskTerminal(c core.Caller, uri ahp.URI) error {
	return h.onClaim(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		switch {
		case holds(c, s.Claim):
			return nil
		case t.hold.free(s.Claim):
			tx.Apply(uri, claimedBy(c.ClientID))
			return nil
		}
		return t.hold.ask(TerminalAsk{Client: c.ClientID, By: c.Who(), At: h.core.Now().UTC()})
	})
}

// WithdrawTerminal takes back that the caller asked.
func (h *Host) WithdrawTerminal(c core.Caller, uri ahp.URI) error {
	return h.onClaim(c, uri, func(_ *hub.Tx, t *term, _ *ahp.TerminalState) error {
		t.hold.forget(c.ClientID)
		return nil
	})
}

// GrantTerminal hands a terminal to a client that asks for it: by its holder, or by the owner.
//
// Errors: -32009 the caller is neither; -32008 that client does not ask, or no such terminal.
func (h *Host) GrantTerminal(c core.Caller, uri ahp.URI, client string) error {
	return h.onClaim(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if err := answers(c, t, s, client, h.core.Now()); err != nil {
			return err
		}
		tx.Apply(uri, claimedBy(client))
		return nil
	})
}

// DenyTerminal refuses a client that asks; it can read that until it asks again. Errors as of
// GrantTerminal.
func (h *Host) DenyTerminal(c core.Caller, uri ahp.URI, client string) error {
	return h.onClaim(c, uri, func(_ *hub.Tx, t *term, s *ahp.TerminalState) error {
		if err := answers(c, t, s, client, h.core.Now()); err != nil {
			return err
		}
		t.hold.deny(client, h.core.Now().UTC())
		return nil
	})
}

// TakeTerminal gives the caller a terminal without asking whoever holds it. Only the owner may
// take it from another client.
func (h *Host) TakeTerminal(c core.Caller, uri ahp.URI) error {
	return h.onClaim(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if !c.IsOwner() && !holds(c, s.Claim) && !t.hold.free(s.Claim) {
			return ahp.Errorf(ahp.CodePermissionDenied, "only the owner takes a terminal from who holds it: ask for it")
		}
		tx.Apply(uri, claimedBy(c.ClientID))
		return nil
	})
}

// ReleaseTerminal gives a terminal that the caller holds back: to the tool call that waits for it, else to its session.
func (h *Host) ReleaseTerminal(c core.Caller, uri, chat ahp.URI) error {
	return h.onClaim(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if holds(c, s.Claim) {
			tx.Apply(uri, t.bySession(chat))
		}
		return nil
	})
}

// bySession is the claim of the tool call that waits for the program, else of the session; under the hub's lock.
func (t *term) bySession(chat ahp.URI) *ahp.TerminalClaimedAction {
	claim := &ahp.TerminalSessionClaim{Session: t.info.Session, Chat: chat}
	if t.call != nil {
		claim = t.call
	}
	return &ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: claim}}
}

// narrowed lets the agent go on when somebody made the claim the session's alone: its tool call waits no more, and the
// program goes on in the background (guide/terminals.md).
func (t *term) narrowed(tx *hub.Tx, claim ahp.TerminalClaim) {
	c, session := claim.Value.(*ahp.TerminalSessionClaim)
	if t.call == nil || !session || c.ToolCallID == t.call.ToolCallID {
		return
	}
	t.call = nil
	tx.Effect(t.info.URI, func(context.Context) { close(t.detached) })
}

// TerminalAsks are those who ask for a terminal, and those refused lately, the first first.
func (h *Host) TerminalAsks(uri ahp.URI) []TerminalAsk {
	if t := h.terms.get(uri); t != nil {
		return t.hold.list(h.core.Now())
	}
	return nil
}

// WatchTerminal ticks after every change of who holds a terminal, who asks for it, its title and
// its commands; ticks not yet taken merge. Call cancel when done. It is nil for ever for a
// terminal of an earlier run, of which none of these changes.
func (h *Host) WatchTerminal(uri ahp.URI) (changed <-chan struct{}, cancel func()) {
	t := h.terms.get(uri)
	if t == nil {
		return nil, func() {}
	}
	return t.hold.watch()
}

// RenameTerminal gives a terminal a title of a person's, which wins over those its program sets.
//
// Errors: -32602 the title is empty, -32008 no such terminal, -32009 not allowed.
func (h *Host) RenameTerminal(c core.Caller, uri ahp.URI, title string) error {
	return h.onTerminal(c, uri, &ahp.TerminalTitleChangedAction{Title: title})
}

// ClearTerminal empties what a terminal shows and its scrollback, for everybody. Errors as of RenameTerminal.
func (h *Host) ClearTerminal(c core.Caller, uri ahp.URI) error {
	return h.onTerminal(c, uri, &ahp.TerminalClearedAction{})
}

// onTerminal runs an action of somebody's page, as Dispatch would of a client.
func (h *Host) onTerminal(c core.Caller, uri ahp.URI, a ahp.Action) error {
	info, known := h.core.Hub.Info(uri)
	if !known || info.Kind != ahp.ChannelTerminal || !c.Audience().Sees(info) {
		return core.NoChannel(uri)
	}
	if err := access.MayAct(c.Principal, a.ActionType(), info); err != nil {
		return core.Denied(err)
	}
	c.Conn = nil
	o, err := h.Dispatch(h.core.Ctx, c, uri, 0, a)
	switch {
	case err != nil:
		return err
	case o.Unknown:
		return core.NoChannel(uri)
	case o.Rejected != "":
		return core.BadParams("%s", o.Rejected)
	}
	return nil
}

// onClaim runs f in one step of the timeline for somebody who may type in a terminal that runs.
func (h *Host) onClaim(c core.Caller, uri ahp.URI, f func(*hub.Tx, *term, *ahp.TerminalState) error) error {
	info, known := h.core.Hub.Info(uri)
	if !known || info.Kind != ahp.ChannelTerminal || !c.Audience().Sees(info) {
		return core.NoChannel(uri)
	}
	if err := access.MayAct(c.Principal, "terminal/claimed", info); err != nil {
		return core.Denied(err)
	}
	t := h.terms.get(uri)
	if t == nil {
		return core.BadParams(exitedAlready)
	}
	var refused error
	err := h.core.Hub.Do(func(tx *hub.Tx) {
		s, open := hub.StateOf[*ahp.TerminalState](tx, uri)
		switch {
		case !open:
			refused = core.NoChannel(uri)
		case exited(s):
			refused = core.BadParams(exitedAlready)
		default:
			refused = f(tx, t, s)
		}
	})
	if err != nil {
		return err
	}
	return refused
}

// answers tells whether the caller may answer a client that asks.
func answers(c core.Caller, t *term, s *ahp.TerminalState, client string, now time.Time) error {
	if !c.IsOwner() && !holds(c, s.Claim) {
		return ahp.Errorf(ahp.CodePermissionDenied, "only who holds this terminal, and the owner, may hand it over")
	}
	asks := func(a TerminalAsk) bool { return a.Client == client && !a.Denied }
	if !slices.ContainsFunc(t.hold.list(now), asks) {
		return ahp.Errorf(ahp.CodeNotFound, "nobody of that name asks for this terminal any more")
	}
	return nil
}

func claimedBy(client string) *ahp.TerminalClaimedAction {
	return &ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: client}}}
}

// holds tells whether a claim is the caller's: of its client or, for a page, of the person's pages.
func holds(c core.Caller, claim ahp.TerminalClaim) bool {
	held, ok := claim.Value.(*ahp.TerminalClientClaim)
	if !ok {
		return false
	}
	if held.ClientID == c.ClientID {
		return true
	}
	_, page := core.PageOwner(c.ClientID)
	return page && held.ClientID == core.PageClient(c.ID)
}
