package changes

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// Config configures a Part.
type Config struct {
	Changes machine.Changes // records changes; nil: no changesets
	Files   machine.Files   // of the computer where sessions work

	PollFor time.Duration // interval of retries after watching failed; 0: a minute
	Folders int           // limit of watched directories per session
	Idle    time.Duration // time without subscribers before a changeset is unloaded

	// Computed is called after a session's changes were computed; versions returns the versions of
	// all changed files.
	Computed func(ctx context.Context, session ahp.URI, versions func() map[string]string)

	// TurnEnded is called once a turn's changes are known.
	TurnEnded func(ctx context.Context, session ahp.URI)

	// SetTotals publishes the totals of a session's changed files. The hub's lock is held.
	SetTotals func(tx *hub.Tx, session ahp.URI, totals *ahp.ChangesSummary)

	Boxes Boxes // sandbox policies for git when people act; nil: none

	// Granted returns the paths outside sessions' directories to which the owner lets repositories
	// lead.
	Granted func() []machine.Outside
	// MayLeadTo reports whether a session's repository may lead to a path, and asks the owner if
	// that is undecided.
	MayLeadTo func(session ahp.URI, out machine.Outside) bool
	// SettleRepository drops open requests about a session's repositories after reading them needed
	// no grant.
	SettleRepository func(session ahp.URI)

	// ChatOfTurn returns the chat of a session that contains a turn; known is false if none does.
	ChatOfTurn func(ctx context.Context, session ahp.URI, turn string) (chat ahp.URI, known bool, err error)

	// ChatDirs returns a chat's own local directories. The chat is loaded.
	ChatDirs func(chat ahp.URI) []string

	// RefreshBranch has the branch of a session read again.
	RefreshBranch func(session ahp.URI)

	// SetMeta publishes a value under the host's own key of a session's `_meta`; nil removes it.
	// The hub's lock is held.
	SetMeta func(tx *hub.Tx, session ahp.URI, key string, value any)

	// ReadSyntax receives a turn's changes, to highlight them in advance; nil: on opening the
	// review.
	ReadSyntax func(load func(context.Context) []diff.Comparison)
}

// Part computes sessions' changesets, runs their operations, and keeps review marks.
type Part struct {
	core *core.Core
	cfg  Config
	svc  *Repositories // nil: no changesets
	keep keeper

	running   runningTurns
	edits     edits // of all sessions' turns
	operating operations

	mu      sync.Mutex
	ledgers map[ahp.URI]*ledger // by session
}

// New returns a Part.
func New(c *core.Core, cfg Config) *Part {
	p := &Part{core: c, cfg: cfg, keep: keeper{c}, ledgers: map[ahp.URI]*ledger{}}
	p.edits = edits{keep: p.keep, turns: map[string]*turnEdits{}, byPath: map[string][]*turnEdits{}}
	if cfg.Changes != nil {
		p.svc = &Repositories{cfg.Changes, c, cfg.Granted, cfg.MayLeadTo, cfg.Boxes}
	}
	return p
}

// Repositories returns the access to sessions' repositories, or nil if no changesets are offered.
func (p *Part) Repositories() *Repositories { return p.svc }

// Rules returns the checks of actions on review marks.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{"changeset/filesReviewChanged": core.Rule(p.checkFilesReviewed)}
}

// WatchStatus describes the looks at a session's directories.
type WatchStatus struct {
	Watched bool // the system reports writes
	Busy    bool // a look is running or requested
	Whole   int  // number of looks at every file
	Narrow  int  // number of looks at written files only
}

// wake loads a changeset after its session, which aggregates its changes.
func (p *Part) wake(ctx context.Context, session, uri ahp.URI) error {
	if err := p.core.Ensure(ctx, session); err != nil {
		return err
	}
	return p.core.Ensure(ctx, uri)
}

// Status returns the status of looks at a session's directories.
func (p *Part) Status(session ahp.URI) WatchStatus {
	l := p.ledger(session)
	watched := l.watcher.isWatched()
	s := &l.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return WatchStatus{Watched: watched, Busy: s.busy, Whole: s.whole, Narrow: s.narrow}
}

// SessionFiles computes the files that a session changed.
func (p *Part) SessionFiles(ctx context.Context, session ahp.URI) ([]machine.ChangedFile, error) {
	l, dirs := p.ledger(session), p.core.LocalDirs(session)
	if err := l.record.load(ctx); err != nil {
		return nil, err
	}
	now := func() (machine.Checkpoint, error) { return p.svc.LookAtAll(ctx, session, dirs) }
	files, _, err := p.changedIn(ctx, l, changeScope{kind: kindSession}, dirs, now)
	return files, err
}

// HasTouched reports whether a turn of a session changed a file, or an open changeset contains it.
func (p *Part) HasTouched(ctx context.Context, session ahp.URI, path string) bool {
	l := p.ledger(session)
	if err := l.record.load(ctx); err != nil {
		return false
	}
	return l.record.hasTouched(path) || slices.ContainsFunc(l.schedule.findShown(path), func(uri ahp.URI) bool {
		_, scope, ok := p.parseURI(uri)
		return ok && scope.kind != kindUncommitted && scope.kind != kindBranch // those compare with commits
	})
}
