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
	Changes machine.Changes // records what changes; nil: no changesets are offered
	Files   machine.Files   // of the computer where sessions work

	PollFor time.Duration // until watching is tried again after it failed; 0: a minute
	Folders int           // most directories that are watched for one session
	Idle    time.Duration // after which a changeset without followers sleeps

	// Computed is called with every newly computed state of a session's changes: which version every changed file has.
	Computed func(ctx context.Context, session ahp.URI, versions func() map[string]string)

	// TurnEnded is called when what a turn changed is known.
	TurnEnded func(ctx context.Context, session ahp.URI)

	// SetTotals publishes what a session changed in files, all in all. The hub's lock is held.
	SetTotals func(tx *hub.Tx, session ahp.URI, totals *ahp.ChangesSummary)

	Boxes Boxes // what git is kept from when people act; nil: nothing

	// Granted returns where the owner allows repositories to lead, out of their sessions' directories.
	Granted func() []machine.Outside
	// MayLeadTo reports whether a session's repository may lead somewhere, and asks the owner when that is not known.
	MayLeadTo func(session ahp.URI, out machine.Outside) bool
	// SettleRepository drops the questions that repositories of a session raised, as they were looked at without them.
	SettleRepository func(session ahp.URI)

	// ChatOfTurn returns the chat of a session that has a turn; known is false when none has it.
	ChatOfTurn func(ctx context.Context, session ahp.URI, turn string) (chat ahp.URI, known bool, err error)

	// ChatDirs returns the local directories that a chat has of its own. The chat is awake.
	ChatDirs func(chat ahp.URI) []string

	// RefreshBranch has the branch of a session read again.
	RefreshBranch func(session ahp.URI)

	// SetMeta publishes a value under the host's own key of a session's `_meta`; nil removes it. The hub's lock is held.
	SetMeta func(tx *hub.Tx, session ahp.URI, key string, value any)

	// ReadSyntax is given what a turn changed, for the colours of its review; nil: they are read when it is opened.
	ReadSyntax func(load func(context.Context) []diff.Comparison)
}

// Part computes sessions' changesets, runs their operations, and keeps review marks.
type Part struct {
	core *core.Core
	cfg  Config
	svc  *Repositories // nil: no changesets are offered
	keep keeper

	running   runningTurns
	edits     edits // by turns of all sessions
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

// Repositories returns what reaches sessions' repositories; nil when no changesets are offered.
func (p *Part) Repositories() *Repositories { return p.svc }

// Rules returns the checks of the actions on review marks.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{"changeset/filesReviewChanged": core.Rule(p.checkFilesReviewed)}
}

// WatchStatus says how a session's directories are looked at.
type WatchStatus struct {
	Watched bool // the system tells of writes
	Busy    bool // a look is under way or due
	Whole   int  // looks at every file so far
	Narrow  int  // looks at the files that were written so far
}

// wake loads a changeset and, before it, its session, into which its changes are aggregated.
func (p *Part) wake(ctx context.Context, session, uri ahp.URI) error {
	if err := p.core.Ensure(ctx, session); err != nil {
		return err
	}
	return p.core.Ensure(ctx, uri)
}

// Status returns how a session's directories are looked at.
func (p *Part) Status(session ahp.URI) WatchStatus {
	l := p.ledger(session)
	watched := l.watcher.isTold()
	s := &l.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	return WatchStatus{Watched: watched, Busy: s.busy, Whole: s.whole, Narrow: s.narrow}
}

// SessionFiles computes which files a session changed.
func (p *Part) SessionFiles(ctx context.Context, session ahp.URI) ([]machine.ChangedFile, error) {
	l, dirs := p.ledger(session), p.core.LocalDirs(session)
	if err := l.record.load(ctx); err != nil {
		return nil, err
	}
	now := func() (machine.Checkpoint, error) { return p.svc.LookAtAll(ctx, session, dirs) }
	files, _, err := p.changedIn(ctx, l, changeScope{kind: kindSession}, dirs, now)
	return files, err
}

// HasTouched reports whether a turn of a session changed a file, or an open changeset says that it changed meanwhile.
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
