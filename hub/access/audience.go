package access

import (
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// SeesSession reports whether the principal sees a session or a part of it.
func (p Principal) SeesSession(uri ahp.URI) bool {
	return p.Audience().Sees(hub.ChannelInfo{URI: uri, Kind: ahp.ChannelSession, Session: uri})
}

// Audience returns what the principal may see. Guests of the same session or part share one
// audience, whichever link they used, so that updates for them are encoded and rendered once.
func (p Principal) Audience() hub.Audience {
	switch {
	case p.Role == RoleOwner:
		return ownerAudience{}
	case p.Host:
		return hostAudience{}
	case p.Role == RoleMember:
		return guestAudience{role: RoleMember}
	case p.Scope.IsWhole():
		return guestAudience{p.Session, RoleViewer, p.shownFiles()}
	}
	return scopeAudience{guestAudience{p.Session, RoleViewer, p.shownFiles()}, p.Scope, p.world}
}

type ownerAudience struct{}

func (ownerAudience) Key() string                                       { return "owner" }
func (ownerAudience) Sees(hub.ChannelInfo) bool                         { return true }
func (ownerAudience) State(_ hub.ChannelInfo, s ahp.State) ahp.State    { return s }
func (ownerAudience) Action(_ hub.ChannelInfo, a ahp.Action) ahp.Action { return a }

// hostAudience sees every session, and of root what concerns sessions: neither the host's settings
// nor its telemetry.
type hostAudience struct{}

func (hostAudience) Key() string { return "people" }

func (hostAudience) Sees(ch hub.ChannelInfo) bool {
	return Principal{Role: RoleViewer, Host: true}.sees(ch)
}

func (h hostAudience) State(ch hub.ChannelInfo, s ahp.State) ahp.State {
	if !h.Sees(ch) {
		return nil
	}
	root, ok := s.(*ahp.RootState)
	if !ok {
		return withoutOrigin(s)
	}
	return &ahp.RootState{Agents: agentsFor(root.Agents), ActiveSessions: root.ActiveSessions,
		Terminals: filterSessionTerminals(root.Terminals)}
}

func (h hostAudience) Action(ch hub.ChannelInfo, a ahp.Action) ahp.Action {
	if !h.Sees(ch) {
		return nil
	}
	if ch.Kind != ahp.ChannelRoot {
		return a
	}
	switch a := a.(type) {
	case *ahp.RootAgentsChangedAction:
		return &ahp.RootAgentsChangedAction{Agents: agentsFor(a.Agents)}
	case *ahp.RootTerminalsChangedAction:
		return &ahp.RootTerminalsChangedAction{Terminals: filterSessionTerminals(a.Terminals)}
	case *ahp.RootActiveSessionsChangedAction:
		return a
	}
	return nil
}

// filterSessionTerminals keeps terminals that a session owns. The claim of a client does not say
// which session the terminal belongs to.
func filterSessionTerminals(all []ahp.TerminalInfo) []ahp.TerminalInfo {
	return slices.DeleteFunc(slices.Clone(all), func(t ahp.TerminalInfo) bool {
		_, ok := t.Claim.Value.(*ahp.TerminalSessionClaim)
		return !ok
	})
}

// guestAudience sees one session, and of root only what concerns it.
type guestAudience struct {
	session ahp.URI // "" for a member with whom nothing is shared
	role    Role    // viewer or member
	shown   shownFiles
}

func (g guestAudience) Key() string { return string(g.role) + " session:" + g.session + g.shown.key() }

func (g guestAudience) Sees(ch hub.ChannelInfo) bool {
	return Principal{Role: g.role, Session: g.session}.sees(ch)
}

// State cuts root down. A channel of the session is returned whole, except for its origin.
func (g guestAudience) State(ch hub.ChannelInfo, s ahp.State) ahp.State {
	if !g.Sees(ch) {
		return nil
	}
	root, ok := s.(*ahp.RootState)
	if !ok {
		return g.shown.state(withoutOrigin(s))
	}
	return &ahp.RootState{
		Agents:         agentsFor(root.Agents),
		ActiveSessions: ahp.Ptr(int64(1)),
		Terminals:      g.terminals(root.Terminals),
	}
}

// withoutOrigin removes the automation that made a session: automations are the owner's.
func withoutOrigin(s ahp.State) ahp.State {
	session, ok := s.(*ahp.SessionState)
	if !ok || session.Origin == nil {
		return s
	}
	cut := *session
	cut.Origin = nil
	return &cut
}

// Action cuts an action of root down. An action that this table does not name is not sent to
// guests.
func (g guestAudience) Action(ch hub.ChannelInfo, a ahp.Action) ahp.Action {
	if !g.Sees(ch) {
		return nil
	}
	if ch.Kind != ahp.ChannelRoot {
		return g.shown.action(a)
	}
	switch a := a.(type) {
	case *ahp.RootAgentsChangedAction:
		return &ahp.RootAgentsChangedAction{Agents: agentsFor(a.Agents)}
	case *ahp.RootTerminalsChangedAction:
		return &ahp.RootTerminalsChangedAction{Terminals: g.terminals(a.Terminals)}
	}
	return nil
}

// terminals keeps those the session owns. A terminal that a client claimed does not name its
// session, so guests do not see it here.
func (g guestAudience) terminals(all []ahp.TerminalInfo) []ahp.TerminalInfo {
	mine := []ahp.TerminalInfo{}
	for _, t := range all {
		if claim, ok := t.Claim.Value.(*ahp.TerminalSessionClaim); ok && claim.Session == g.session {
			mine = append(mine, t)
		}
	}
	return mine
}

// agentsFor removes sign-in addresses and the owner's customizations.
func agentsFor(all []ahp.AgentInfo) []ahp.AgentInfo {
	out := make([]ahp.AgentInfo, len(all))
	for i, a := range all {
		a.ProtectedResources, a.Customizations = nil, nil
		out[i] = a
	}
	return out
}
