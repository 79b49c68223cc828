package threads

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
)

// Repositories accesses the repositories of sessions.
type Repositories interface {
	Content(ctx context.Context, session ahp.URI, oid string) ([]byte, error)
	Staged(ctx context.Context, session ahp.URI, dirs []string) (int, error)
	Texts(ctx context.Context, session ahp.URI, dirs, paths []string) ([]machine.Text, error)
	Edit(ctx context.Context, session ahp.URI, dirs []string, edits []machine.TextEdit) (machine.Rewrite, error)
	TakeBack(ctx context.Context, session ahp.URI, r machine.Rewrite) error
	CommitFiles(ctx context.Context, session ahp.URI, dirs, paths []string, c machine.Commit) (machine.Committed, error)
}

// Config configures a Part.
type Config struct {
	Repositories Repositories  // nil: suggestions cannot be applied
	Files        machine.Files // of the computer where sessions work
	Most         int           // limit of threads per session

	// Judged receives every review event, under the hub's lock; nil: events are not reported.
	Judged func(*hub.Tx, ahp.URI, review.Event)

	// Dispatch runs an action like a client's: rights, rules, hub.
	Dispatch func(ctx context.Context, c core.Caller, channel ahp.URI, clientSeq int64, a ahp.Action) (hub.Outcome,
		error)

	// CheckVersion returns an error for a file version that the caller may not read.
	CheckVersion func(ctx context.Context, c core.Caller, uri ahp.URI) error

	// ReadVersion reads a file version that the caller may read.
	ReadVersion func(ctx context.Context, c core.Caller, uri ahp.URI) ([]byte, error)

	// ReadShared reads a file of a session that all its guests may read.
	ReadShared func(ctx context.Context, session, uri ahp.URI) ([]byte, error)

	// Versions computes the current version of every changed file of a session.
	Versions func(ctx context.Context, session ahp.URI) (map[string]string, error)

	// Refresh has a session's changes computed again.
	Refresh func(session ahp.URI)

	// MarkUsed records that a session has permanent content. The hub's lock is held.
	MarkUsed func(tx *hub.Tx, session ahp.URI)
}

// Part validates threads, applies suggestions, and keeps the reviews of sessions.
type Part struct {
	core    *core.Core
	cfg     Config
	reviews reviews
}

// New returns a Part without reviews.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg,
		reviews: reviews{all: map[ahp.URI]review.Review{}, watchers: map[chan struct{}]ahp.URI{}}}
}

// Rules returns the checks of actions on threads.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"annotations/set":          core.Rule(p.checkThreadSet),
		"annotations/updated":      core.Rule(checkThreadUpdated),
		"annotations/removed":      core.Rule(p.checkThreadRemoved),
		"annotations/entrySet":     core.Rule(p.checkEntrySet),
		"annotations/entryRemoved": core.Rule(checkEntryRemoved),
	}
}

// Derive updates the origin of a thread that a client moved.
func (p *Part) Derive(tx *hub.Tx, e *hub.Envelope) {
	if s, ok := hub.StateOf[*ahp.AnnotationsState](tx, e.Channel.URI); ok {
		p.deriveRange(tx, e, s)
	}
}

// Recover loads the reviews.
func (p *Part) Recover(ctx context.Context) error { return p.loadReviews(ctx) }
