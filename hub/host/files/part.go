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
	DefaultDir string        // open to the owner, "" for none
	Clients    ClientAsker   // nil: files that clients hold cannot be read

	// Asked is called, under the hub's lock, for every request for files that waits for the owner; nil: not at all.
	Asked func(*hub.Tx, FileAsk)

	// Visible returns the sessions that a caller sees.
	Visible func(core.Caller) []*core.Entry
	// ClientOf returns the principal of a client that a session lists.
	ClientOf func(session ahp.URI, clientID string) (principal string, listed bool)
	// ReadVersion returns the content and the path of a version of a file, as an ahp-blob: URI names it.
	ReadVersion func(context.Context, core.Caller, ahp.URI) (data []byte, name string, err error)

	// Track returns what git makes of a file of a directory.
	Track func(ctx context.Context, dir, path string) (machine.Tracking, error)
	// TrackedFiles returns the files that git tracks in directories, sorted.
	TrackedFiles func(ctx context.Context, dirs []string) ([]string, error)
	// HasTouched reports whether a session changed a file.
	HasTouched func(ctx context.Context, session ahp.URI, path string) bool
	// RefreshChanges looks at the changes of all sessions again.
	RefreshChanges func()
}

// Part answers the resource methods: it reads, writes and watches files of directories that are open to a caller,
// keeps the grants of the owner, and passes on what clients serve.
type Part struct {
	core *core.Core
	cfg  Config

	watches watches
	grants  grants
	wide    wide
}

// New returns a Part that has granted nothing.
func New(c *core.Core, cfg Config) *Part { return &Part{core: c, cfg: cfg} }
