package files

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// Config configures a Part.
type Config struct {
	Files      machine.Files // of the computer where sessions work
	DefaultDir string        // open to the owner; "": none
	Clients    ClientAsker   // nil: clients' files cannot be read

	// Asked receives every pending request for files, under the hub's lock; nil: none.
	Asked func(*hub.Tx, FileAsk)

	// Visible returns the sessions that a caller sees.
	Visible func(core.Caller) []*core.Entry
	// ClientOf returns the principal of a client that a session lists.
	ClientOf func(session ahp.URI, clientID string) (principal string, listed bool)
	// ReadVersion returns the content and the path of a file version, by its ahp-blob: URI.
	ReadVersion func(context.Context, core.Caller, ahp.URI) (data []byte, name string, err error)

	// Track returns git's status of a file in a directory.
	Track func(ctx context.Context, dir, path string) (machine.Tracking, error)
	// TrackedFiles returns the files that git tracks in directories, sorted.
	TrackedFiles func(ctx context.Context, dirs []string) ([]string, error)
	// HasTouched reports whether a session changed a file.
	HasTouched func(ctx context.Context, session ahp.URI, path string) bool
	// RefreshChanges recomputes the changes of all sessions.
	RefreshChanges func()
}

// Part handles the resource methods: it reads, writes and watches files that are open to a caller,
// keeps the owner's grants, and forwards requests for clients' files.
type Part struct {
	core *core.Core
	cfg  Config

	watches watches
	grants  grants
	wide    wide
}

// New returns a Part without grants.
func New(c *core.Core, cfg Config) *Part { return &Part{core: c, cfg: cfg} }
