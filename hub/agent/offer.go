package agent

import (
	"context"
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Offer is what an agent says of itself once it runs: it replaces what it said before. A nil
// field says nothing new.
type Offer struct {
	// Settings are the agent's own ones, besides those of the host, and Values what they are now.
	Settings map[string]ahp.SessionConfigPropertySchema
	Values   ahp.Meta
	Models   []ahp.SessionModelInfo
	Logins   []ahp.ProtectedResourceMetadata
	// LoginNeeded says that the agent just refused to work without a login: none was given, or what was given is no
	// longer good. Logins are the ways to it.
	LoginNeeded ahp.AuthRequiredReason
	// Title is what the agent calls a Chat.
	Chat  ahp.URI
	Title string
}

// Settable is a Session with settings of its own that change while it lives.
type Settable interface {
	// Set has the agent take a value. The error says why it does not, for people.
	Set(ctx context.Context, key string, value json.RawMessage) error
}

// Steerable is a Session that may take a message into a turn which runs.
type Steerable interface {
	// Steers reports whether it can, in the turn that runs in a chat now.
	Steers(chat ahp.URI) bool
	// Steer hands the message over. After an error it was not taken.
	Steer(ctx context.Context, chat ahp.URI, m ahp.Message) error
}

// SlashCommand is one that a message may begin with, as /name and perhaps more.
type SlashCommand struct {
	Name        string `json:"name"` // without the slash
	Description string `json:"description,omitempty"`
	Hint        string `json:"hint,omitempty"` // what may follow; "" is nothing
}

// Commander is a Session or a Backend that knows the agent's commands; a Backend those of the last session.
type Commander interface{ Commands() []SlashCommand }

// Authenticator is a Backend that takes tokens for the resources it names in its AgentInfo.
type Authenticator interface {
	// Authenticate keeps a token in memory; "" takes it back. known is false for resources of others.
	Authenticate(ctx context.Context, resource, token string) (known bool, err error)
}

// Confined is a Backend that works in some directories only.
type Confined interface {
	// Allows says why an absolute path is none of them, for people.
	Allows(dir string) error
}

// Iconed is a Backend with a sign that pages show beside its name: a letter or two, or one emoji.
type Iconed interface{ Icon() string }
