// Package machine is the interface between the host and the computer on which a session's programs run. Everything in
// it can cross a network: plain values, byte streams, contexts, event callbacks, and channels that the caller's side
// creates. It knows neither sessions nor how a computer works; hub/machine/local is the hub's own.
package machine

import (
	"errors"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// ErrOffline reports that a computer is not connected.
var ErrOffline = errors.New("this machine is offline. Try again when it is back")

// Machine is a computer. Its methods return the same values each time, except Agents of a Watcher: its agents may come
// and go. An agent that returns is the same value.
type Machine interface {
	Agents() map[string]agent.Backend // by provider
	Changes() Changes                 // nil when none are recorded
	Files() Files
	Terminals() Terminals
	Customs() Customs // nil when no customizations are looked for

	// CheckSandbox returns why programs cannot run under a policy, such as a path that no sandbox may show.
	CheckSandbox(*sandbox.Policy) error

	// Forget removes what a session's programs left outside of its directories. session is the name in its policies.
	Forget(session string) error
}

// Watcher is a Machine whose agents and their descriptions may change.
type Watcher interface {
	// Watch returns a channel that receives a value when they may have changed, until cancel. It is never closed.
	Watch() (changed <-chan struct{}, cancel func())
	// Missing returns why an agent is not among Agents: ErrOffline if it may return, nil if it is not an agent of a
	// machine that can join and leave.
	Missing(provider string) error
	// IsOffline reports whether the computer of an agent is offline and may return.
	IsOffline(provider string) bool
}
