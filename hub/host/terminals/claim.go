package terminals

import (
	"context"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Limits of requests for control.
const (
	mostAsks  = 32              // open requests per terminal
	AskExpiry = 5 * time.Minute // lifetime of unanswered requests and of refusals
)

// Ask is a client's request to control a terminal that another client holds. The protocol does not
// define it, so it is the host's own state, in memory, for pages.
type Ask struct {
	Client string           // the clientId that would hold it; core.PageOwner returns its principal
	By     access.Principal // the requesting participant
	At     time.Time        // time of the request or refusal
	Denied bool             // refused by the holder; kept until the next request
}

// Ask requests control of a terminal from its holder. If no client holds it, the caller gets it at
// once, as by terminal/claimed.
//
// Errors: -32602 it has exited, or has too many requests; -32008 no such terminal; -32009 not
// allowed.
func (p *Part) Ask(c core.Caller, uri ahp.URI) error {
	return p.changeHold(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		switch {
		case isHolder(c, s.Claim):
			return nil
		case t.hold.isFree(s.Claim):
			tx.Apply(uri, claimFor(c.ClientID))
			return nil
		}
		return t.hold.ask(Ask{Client: c.ClientID, By: c.Principal, At: p.core.Now().UTC()})
	})
}

// Withdraw withdraws the caller's request for a terminal.
func (p *Part) Withdraw(c core.Caller, uri ahp.URI) error {
	return p.changeHold(c, uri, func(_ *hub.Tx, t *term, _ *ahp.TerminalState) error {
		t.hold.forget(c.ClientID)
		return nil
	})
}

// Grant gives control of a terminal to a requesting client. Only its holder and the owner may.
//
// Errors: -32009 the caller is neither; -32008 no such request or terminal.
func (p *Part) Grant(c core.Caller, uri ahp.URI, client string) error {
	return p.changeHold(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if err := mayAnswer(c, t, s, client, p.core.Now()); err != nil {
			return err
		}
		tx.Apply(uri, claimFor(client))
		return nil
	})
}

// Deny refuses a client's request. The client sees the refusal until it asks again. Errors as of
// Grant.
func (p *Part) Deny(c core.Caller, uri ahp.URI, client string) error {
	return p.changeHold(c, uri, func(_ *hub.Tx, t *term, s *ahp.TerminalState) error {
		if err := mayAnswer(c, t, s, client, p.core.Now()); err != nil {
			return err
		}
		t.hold.deny(client, p.core.Now().UTC())
		return nil
	})
}

// Take gives the caller control without a request. Only the owner may take a terminal from another
// client.
func (p *Part) Take(c core.Caller, uri ahp.URI) error {
	return p.changeHold(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if !c.IsOwner() && !isHolder(c, s.Claim) && !t.hold.isFree(s.Claim) {
			return ahp.Errorf(ahp.CodePermissionDenied,
				"only the owner can take a terminal from its holder: ask for it")
		}
		tx.Apply(uri, claimFor(c.ClientID))
		return nil
	})
}

// Release returns a terminal that the caller holds to the waiting tool call, else to its session.
func (p *Part) Release(c core.Caller, uri, chat ahp.URI) error {
	return p.changeHold(c, uri, func(tx *hub.Tx, t *term, s *ahp.TerminalState) error {
		if isHolder(c, s.Claim) {
			tx.Apply(uri, t.sessionClaim(chat))
		}
		return nil
	})
}

// sessionClaim returns the claim of the tool call that waits for the program, else of the session.
// The hub's lock is held.
func (t *term) sessionClaim(chat ahp.URI) *ahp.TerminalClaimedAction {
	claim := &ahp.TerminalSessionClaim{Session: t.info.Session, Chat: chat}
	if t.call != nil {
		claim = t.call
	}
	return &ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: claim}}
}

// detach ends the tool call's wait when a claim names only the session. The program continues in
// the background (guide/terminals.md).
func (t *term) detach(tx *hub.Tx, claim ahp.TerminalClaim) {
	c, session := claim.Value.(*ahp.TerminalSessionClaim)
	if t.call == nil || !session || c.ToolCallID == t.call.ToolCallID {
		return
	}
	t.call = nil
	tx.Effect(t.info.URI, func(context.Context) { close(t.detached) })
}

// Asks returns the open requests for a terminal and recent refusals, oldest first.
func (p *Part) Asks(uri ahp.URI) []Ask {
	if t := p.get(uri); t != nil {
		return t.hold.list(p.core.Now())
	}
	return nil
}

// Changes returns a channel that ticks after every change of a terminal's holder, requests, title
// and commands; pending ticks merge. Call cancel when done. The channel is nil for a terminal of an
// earlier run, which never changes.
func (p *Part) Changes(uri ahp.URI) (changed <-chan struct{}, cancel func()) {
	t := p.get(uri)
	if t == nil {
		return nil, func() {}
	}
	return t.hold.watch()
}

// Rename sets a terminal's title, which overrides titles that its program sets.
//
// Errors: -32602 the title is empty, -32008 no such terminal, -32009 not allowed.
func (p *Part) Rename(c core.Caller, uri ahp.URI, title string) error {
	return p.act(c, uri, &ahp.TerminalTitleChangedAction{Title: title})
}

// Clear clears a terminal's screen and scrollback, for all viewers. Errors as of Rename.
func (p *Part) Clear(c core.Caller, uri ahp.URI) error {
	return p.act(c, uri, &ahp.TerminalClearedAction{})
}

// act dispatches an action of a page like a client's.
func (p *Part) act(c core.Caller, uri ahp.URI, a ahp.Action) error {
	info, known := p.core.Hub.Info(uri)
	if !known || info.Kind != ahp.ChannelTerminal || !c.Audience().Sees(info) {
		return core.NoChannel(uri)
	}
	if err := c.MayAct(a.ActionType(), info); err != nil {
		return err
	}
	c.Conn = nil
	o, err := p.cfg.Dispatch(p.core.Ctx, c, uri, 0, a)
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

// changeHold runs f in one step of the timeline if the caller may type in the terminal and it is
// running.
func (p *Part) changeHold(c core.Caller, uri ahp.URI, f func(*hub.Tx, *term, *ahp.TerminalState) error) error {
	info, known := p.core.Hub.Info(uri)
	if !known || info.Kind != ahp.ChannelTerminal || !c.Audience().Sees(info) {
		return core.NoChannel(uri)
	}
	if err := c.MayAct("terminal/claimed", info); err != nil {
		return err
	}
	t := p.get(uri)
	if t == nil {
		return core.BadParams(exitedAlready)
	}
	if t.unconfined && !c.IsOwner() {
		return ahp.Errorf(ahp.CodePermissionDenied, ownersAlone)
	}
	var refused error
	err := p.core.Hub.Do(func(tx *hub.Tx) {
		s, open := hub.StateOf[*ahp.TerminalState](tx, uri)
		switch {
		case !open:
			refused = core.NoChannel(uri)
		case hasExited(s):
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

// mayAnswer returns an error if the caller may not answer a client's request.
func mayAnswer(c core.Caller, t *term, s *ahp.TerminalState, client string, now time.Time) error {
	if !c.IsOwner() && !isHolder(c, s.Claim) {
		return ahp.Errorf(ahp.CodePermissionDenied,
			"only the person in control of this terminal and the owner can hand it over")
	}
	asks := func(a Ask) bool { return a.Client == client && !a.Denied }
	if !slices.ContainsFunc(t.hold.list(now), asks) {
		return ahp.Errorf(ahp.CodeNotFound, "this request for the terminal was withdrawn or has expired")
	}
	return nil
}

func claimFor(client string) *ahp.TerminalClaimedAction {
	return &ahp.TerminalClaimedAction{Claim: ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: client}}}
}

// isHolder reports whether the caller holds a claim: with its client or, for a page, with any of
// the person's pages.
func isHolder(c core.Caller, claim ahp.TerminalClaim) bool {
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
