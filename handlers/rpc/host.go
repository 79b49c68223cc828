package rpc

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Host runs clients' requests. Its errors are *ahp.Error where the protocol has a code for them.
type Host interface {
	Channels
	Clients
	Sessions
	Chats
	Completions
	Authenticator
	Changesets
}

// Channels prepares channels for subscription and accepts actions.
type Channels interface {
	Prepare(ctx context.Context, c core.Caller, uri ahp.URI) error
	Dispatch(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome, error)
}

// Clients is notified when clients connect and leave (AHP requirements 137–139), and when a client
// loses its id.
type Clients interface {
	Unsubscribed(c core.Caller, uri ahp.URI)
	Disconnected(c core.Caller)
	Evicted(principal, clientID string)
	Reconnected(c core.Caller, uris []ahp.URI)
}

// ClientStore remembers clients across restarts; *store.Store is one. If nil in a Config, they are
// remembered in memory only.
type ClientStore interface {
	ClientRecord(principal, clientID string, v []byte) hub.Record
	SeenRecord(principal, clientID string) hub.Record
	Client(ctx context.Context, principal, clientID string) (v []byte, found bool, err error)
	BindingRecord(clientID string, rank int, v []byte) hub.Record
	Binding(ctx context.Context, clientID string) (v []byte, found bool, err error)
}
