package access

import (
	"context"
	"log/slog"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Principal is somebody the host knows: the owner, or a guest who came by a link.
type Principal struct {
	ID      string // stable: "owner", "guest:…", "link:…", "agent:…"
	Name    string // as they are shown to others
	Role    Role
	Session ahp.URI // the one session they may see; "" for the whole host
	Link    string  // id of the link they came by; "" for the owner
	Token   string  // id of the personal token that was shown; "" for every other way in

	Prompt, Approve, Type bool // a driver's switches
	Guests                bool // with Approve: also what guests asked for, their own too
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

// Known tells whether there is anybody at all.
func (p Principal) Known() bool { return p.ID != "" && roleRights[p.Role] != nil }

// sees tells whether a channel lies in the principal's scope.
func (p Principal) sees(ch hub.ChannelInfo) bool {
	if p.Role == RoleOwner {
		return true
	}
	if p.Session == "" {
		return false
	}
	return ch.Kind == ahp.ChannelRoot || p.owns(ch)
}

func (p Principal) owns(ch hub.ChannelInfo) bool {
	return ch.Session == p.Session || (ch.Kind == ahp.ChannelSession && ch.URI == p.Session)
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
