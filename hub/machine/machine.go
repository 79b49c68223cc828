// Package machine is the seam between the host and the computer on which a session's programs run. Everything in it
// could cross a network: plain values, byte streams, contexts, sinks for events, and channels that the caller's side
// makes. It knows neither sessions nor how a computer does its work; hub/machine/local is the computer the hub runs on.
package machine

import (
	"errors"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// ErrOffline reports that a computer is not connected.
var ErrOffline = errors.New("this machine is offline. Try again when it is back")

// Machine is a computer. Its methods return the same values each time, but for Agents of one that is a Watcher: these
// may come and go, and the same agent is the same value again.
type Machine interface {
	Agents() map[string]agent.Backend // by provider
	Changes() Changes                 // nil when none are recorded
	Files() Files
	Terminals() Terminals
	Customs() Customs // nil when no customizations are looked for

	// CheckSandbox says why programs cannot run as a policy says, as for a path that no sandbox may show.
	CheckSandbox(*sandbox.Policy) error

	// Forget removes what programs of a session left outside of its directories. session is the name in its policies.
	Forget(session string) error
}

// Watcher is a Machine whose agents may change, with what they say of themselves.
type Watcher interface {
	// Watch returns a channel that has a value when they may have changed, until cancel. The channel is never closed.
	Watch() (changed <-chan struct{}, cancel func())
	// Missing says why an agent that Agents does not have is not there: with ErrOffline when it may come back. nil: it is
	// none that comes and goes.
	Missing(provider string) error
	// IsOffline reports whether the computer of an agent is offline and may come back.
	IsOffline(provider string) bool
}
