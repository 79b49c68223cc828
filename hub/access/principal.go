package access

import (
	"context"
	"log/slog"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Principal is somebody the host knows: the owner, a person with an account, or a guest who came by a link.
type Principal struct {
	ID      string // stable: "owner", "person:…", "guest:…", "link:…", "agent:…"
	Name    string // as they are shown to others
	Role    Role
	Session ahp.URI // the one session they may see, unless Host
	Scope   Scope   // the part of Session they may see; the zero value is all of it
	Host    bool    // they see every session, with the rights of their role: a person with an account
	Link    string  // id of the link they came by; "" for the owner and people with an account
	Token   string  // id of the personal token that was shown; "" for every other way in

	Prompt, Approve, Type bool // a driver's switches
	Guests                bool // with Approve: also what guests asked for, their own too
	AllFiles              bool // of a guest: also files that git does not track and the session did not change

	world World // what Scope is looked up in
}

// Owner is the principal that has every right.
func Owner(name string) Principal {
	if name == "" {
		name = "Owner"
	}
	return Principal{ID: "owner", Name: name, Role: RoleOwner}
}

// Agent is the agent of one session as somebody who comments on it.
func Agent(provider, name string, session ahp.URI) Principal {
	return Principal{ID: "agent:" + provider, Name: name, Role: RoleAgent, Session: session}
}

// Account reports whether somebody has an account of their own, as the owner has: ways to sign in, and tokens.
func (p Principal) Account() bool { return p.Role == RoleOwner || IsPerson(p.ID) }

// Bearer reports whether p showed a link's token and is not known as a guest yet.
func (p Principal) Bearer() bool { return p.Link != "" && p.ID == bearerPrefix+p.Link }

// personPrefix begins the principal ids of people with an account.
const personPrefix = "person:"

// IsPerson tells the principal id of a person with an account from others.
func IsPerson(id string) bool { return strings.HasPrefix(id, personPrefix) }

// Known reports whether there is anybody at all.
func (p Principal) Known() bool { return p.ID != "" && roleRights[p.Role] != nil }

// sees reports whether a channel lies in the principal's scope.
func (p Principal) sees(ch hub.ChannelInfo) bool {
	switch {
	case p.Role == RoleOwner:
		return true
	case p.Host:
		return ch.Kind == ahp.ChannelRoot || ch.Session != "" || ch.Kind == ahp.ChannelSession
	case p.Session == "":
		return p.Role == RoleMember && ch.Kind == ahp.ChannelRoot // an empty list, until a link lets them into something
	case ch.Kind == ahp.ChannelRoot:
		return true
	}
	return p.owns(ch) && p.Scope.holds(ch)
}

func (p Principal) owns(ch hub.ChannelInfo) bool {
	return ch.Session == p.Session || (ch.Kind == ahp.ChannelSession && ch.URI == p.Session)
}

// Approves reports whether somebody may approve what an agent wants to do; guest: for a prompt that another than the owner
// wrote, which with approval becomes a way to run anything.
func (p Principal) Approves(guest bool) bool {
	return p.Has(RightApprove) && (!guest || p.Role == RoleOwner || p.Guests)
}

// LogValue keeps logs to what identifies somebody.
func (p Principal) LogValue() slog.Value {
	if !p.Known() {
		return slog.StringValue("nobody")
	}
	return slog.GroupValue(slog.String("id", p.ID), slog.String("role", string(p.Role)))
}

type contextKey struct{}

// WithPrincipal returns a context that carries who asks.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns who asks; the zero Principal, which may do nothing, when nobody signed in.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
