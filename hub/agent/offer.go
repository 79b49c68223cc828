package agent

import (
	"context"
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Offer is what a running agent reports of itself; it replaces the previous report. A nil field
// reports nothing new.
type Offer struct {
	// Settings are the agent's own settings, in addition to the host's, and Values their current
	// values.
	Settings map[string]ahp.SessionConfigPropertySchema
	Values   ahp.Meta
	Models   []ahp.SessionModelInfo
	Logins   []ahp.ProtectedResourceMetadata
	// LoginNeeded is set when the agent refused to work without a login: none was given, or the one
	// given is no longer valid. Logins are the ways to log in.
	LoginNeeded ahp.AuthRequiredReason
	// Title is the agent's title of Chat.
	Chat  ahp.URI
	Title string
	// Logged is what the program logged while Chat waits for its answer; nil reports nothing new.
	Logged *Logged
}

// Logged are the last readable lines that a program logged, without credentials. No lines clear
// earlier ones.
type Logged struct{ Lines []string }

// NoAnswerFor begins the activity of a chat whose agent sent nothing for a while.
const NoAnswerFor = "No answer for "

// Settable is a Session with settings of its own that can change while it lives.
type Settable interface {
	// Set changes a setting of the agent. The error is written for people.
	Set(ctx context.Context, key string, value json.RawMessage) error
}

// Steerable is a Session that can accept a message during a turn.
type Steerable interface {
	// Steers reports whether it can, in the chat's running turn.
	Steers(chat ahp.URI) bool
	// Steer delivers the message. After an error it was not accepted.
	Steer(ctx context.Context, chat ahp.URI, m ahp.Message) error
}

// SlashCommand is a command at the beginning of a message: /name and perhaps more.
type SlashCommand struct {
	Name        string `json:"name"` // without the slash
	Description string `json:"description,omitempty"`
	Hint        string `json:"hint,omitempty"` // the arguments; "" for none
}

// Commander is a Session or a Backend that knows the agent's commands; a Backend knows the commands
// of the last session.
type Commander interface{ Commands() []SlashCommand }

// Authenticator is a Backend that accepts tokens for the resources in its AgentInfo.
type Authenticator interface {
	// Authenticate keeps a token in memory; "" deletes it. known is false for resources of other
	// agents.
	Authenticate(ctx context.Context, resource, token string) (known bool, err error)
}

// Confined is a Backend that works only in some directories.
type Confined interface {
	// Allows reports, for people, why an absolute path is in none of them; nil when it is in one.
	Allows(dir string) error
}

// Iconed is a Backend with an icon that pages show beside its name: one or two letters, or one
// emoji.
type Iconed interface{ Icon() string }
