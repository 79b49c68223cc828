package access

import (
	"context"
	"log/slog"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Principal is an authenticated party: the owner, a person with an account, a guest who came by a
// link, or an agent.
type Principal struct {
	ID      string // stable: "owner", "person:…", "guest:…", "link:…", "agent:…"
	Name    string // as shown to others
	Role    Role
	Session ahp.URI // the one session they may see, unless Host
	Scope   Scope   // the part of Session they may see; the zero value is all of it
	Host    bool    // sees every session, with the rights of the role: a person with an account
	Link    string  // id of the link they came by; "" for the owner and people with an account
	Token   string  // id of the personal token that was used; "" for every other way in

	Prompt, Approve, Type bool // a driver's switches
	Guests                bool // with Approve: also prompts of guests, including their own
	AllFiles              bool // of a guest: also show files that are untracked by git and not changed by the session

	world World // resolves Scope
}

// Owner returns the principal that has every right.
func Owner(name string) Principal {
	if name == "" {
		name = "Owner"
	}
	return Principal{ID: "owner", Name: name, Role: RoleOwner}
}

// Agent returns the principal of a session's agent, which comments on the session.
func Agent(provider, name string, session ahp.URI) Principal {
	return Principal{ID: "agent:" + provider, Name: name, Role: RoleAgent, Session: session}
}

// HasAccount reports whether the principal has an account: ways to sign in, and tokens. The owner
// has one.
func (p Principal) HasAccount() bool { return p.Role == RoleOwner || IsPerson(p.ID) }

// IsBearer reports whether p showed a link's token and has not become a guest yet.
func (p Principal) IsBearer() bool { return p.Link != "" && p.ID == bearerPrefix+p.Link }

// personPrefix begins the principal ids of people with an account.
const personPrefix = "person:"

// IsPerson reports whether a principal id is that of a person with an account.
func IsPerson(id string) bool { return strings.HasPrefix(id, personPrefix) }

// IsKnown reports whether the principal is authenticated.
func (p Principal) IsKnown() bool { return p.ID != "" && roleRights[p.Role] != nil }

// sees reports whether a channel is in the principal's scope.
func (p Principal) sees(ch hub.ChannelInfo) bool {
	switch {
	case p.Role == RoleOwner:
		return true
	case p.Host:
		return ch.Kind == ahp.ChannelRoot || ch.Session != "" || ch.Kind == ahp.ChannelSession
	case p.Session == "":
		return p.Role == RoleMember && ch.Kind == ahp.ChannelRoot // an empty list, until a link opens a session to them
	case ch.Kind == ahp.ChannelRoot:
		return true
	}
	return p.owns(ch) && p.Scope.contains(ch)
}

func (p Principal) owns(ch hub.ChannelInfo) bool {
	return ch.Session == p.Session || (ch.Kind == ahp.ChannelSession && ch.URI == p.Session)
}

// CanApprove reports whether the principal may approve what an agent wants to do. guest is set for
// prompts that the owner did not write; approving those amounts to running anything.
func (p Principal) CanApprove(guest bool) bool {
	return p.Has(RightApprove) && (!guest || p.Role == RoleOwner || p.Guests)
}

// LogValue logs only what identifies the principal.
func (p Principal) LogValue() slog.Value {
	if !p.IsKnown() {
		return slog.StringValue("nobody")
	}
	return slog.GroupValue(slog.String("id", p.ID), slog.String("role", string(p.Role)))
}

type contextKey struct{}

// WithPrincipal returns a context that carries the caller.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the caller, or the zero Principal, which may do nothing.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
