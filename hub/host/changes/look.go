package changes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// mostPaths is the limit of written files that a look checks one by one.
const mostPaths = 1000

// lookRequest describes the next look at a session's directories. The zero value computes only
// changesets that were never computed, without checking files.
type lookRequest struct {
	whole bool            // check every file
	paths map[string]bool // files that were written
	bases bool            // commits or branches may have changed
	known bool            // something changed, so shown states are outdated until the look ends
}

func (w *lookRequest) add(path string) {
	w.known = true
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	w.paths[path] = true
	w.narrow()
}

func (w *lookRequest) join(more lookRequest) {
	w.whole, w.bases, w.known = w.whole || more.whole, w.bases || more.bases, w.known || more.known
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	maps.Copy(w.paths, more.paths)
	w.narrow()
}

// narrow switches to a look at everything if very many files were written.
func (w *lookRequest) narrow() {
	if w.whole || len(w.paths) > mostPaths {
		w.whole, w.paths = true, nil
	}
}

// refresh requests a look at every file of a session and updates its open changesets, after a
// change.
func (p *Part) refresh(l *ledger) {
	p.requestLook(l, lookRequest{whole: true, bases: true, known: true})
}

// Refresh requests a look at every file of a session and updates its open changesets.
func (p *Part) Refresh(session ahp.URI) { p.refresh(p.ledger(session)) }

// RefreshAll refreshes the changesets of all sessions, for example after the owner's decision on a
// repository.
func (p *Part) RefreshAll() {
	p.mu.Lock()
	ledgers := slices.Collect(maps.Values(p.ledgers))
	p.mu.Unlock()
	slices.SortFunc(ledgers, func(a, b *ledger) int { return cmp.Compare(a.session, b.session) })
	for _, l := range ledgers {
		p.refresh(l)
	}
}

// requestLook requests an update of a session's open changesets. Requests during a look share the
// next one.
func (p *Part) requestLook(l *ledger, w lookRequest) {
	if l.schedule.request(w) {
		p.core.Go(func() { p.runLooks(l) })
	}
}

// runLooks looks until there are no more requests. It pauses after each look as long as the look
// took, and three times as long after a look at every file, so that a directory that always changes
// does not use a whole core.
func (p *Part) runLooks(l *ledger) {
	for {
		w, more := l.schedule.take(p.core.Ctx.Err() != nil)
		if !more {
			return
		}
		began := time.Now()
		p.lookNow(p.core.Ctx, l, w)
		rest := time.Since(began)
		if w.whole {
			l.schedule.setTook(rest)
			rest *= 3
		}
		_ = core.Sleep(p.core.Ctx, min(rest, 10*time.Second)) // the loop notices when the host stops
	}
}

// looking is one look for all open changesets.
type looking struct {
	p    *Part
	l    *ledger
	want lookRequest
	dirs []string
	own  attribution
	now  func() (machine.Checkpoint, error) // runs at most once per look
	done bool                               // now succeeded
}

// lookNow computes a session's open changesets that may have changed, and publishes changes.
func (p *Part) lookNow(ctx context.Context, l *ledger, w lookRequest) {
	k := &looking{p: p, l: l, want: w, dirs: p.core.LocalDirs(l.session)}
	k.own = p.attribute(l, k.dirs)
	k.now = sync.OnceValues(func() (machine.Checkpoint, error) { return k.look(ctx) })
	if l.watcher.moveTo(k.dirs) || w.whole || w.bases {
		l.bases.forget()
	}
	l.undo.dropAnswers(w)
	if w.bases {
		p.cfg.RefreshBranch(l.session)
	}
	uris := l.schedule.uris()
	if w.known {
		p.markRecomputing(ctx, l, uris)
	}
	defer k.requeueUnfinished()
	for _, uri := range uris {
		_, scope, ok := p.parseURI(uri)
		if _, _, awake := p.core.Hub.State(uri); !ok || !awake {
			l.schedule.leave(uri)
			continue
		}
		files, overlap, err := k.changed(ctx, uri, scope)
		if ctx.Err() != nil {
			return
		}
		if n := len(files); err == nil && n > mostChangedFiles {
			err = fmt.Errorf("%d files changed, more than the %d that can be shown. Add generated files to .gitignore",
				n, mostChangedFiles)
		}
		p.publish(ctx, l, uri, scope, files, overlap, p.newHiding(ctx, l, scope, k.dirs, k.now), err)
	}
}

func (k *looking) look(ctx context.Context) (c machine.Checkpoint, err error) {
	svc := k.p.svc
	if k.want.whole {
		c, err = svc.LookAtAll(ctx, k.l.session, k.dirs)
	} else {
		c, err = svc.Look(ctx, k.l.session, k.dirs, slices.Sorted(maps.Keys(k.want.paths)))
	}
	if k.done = err == nil; k.done {
		k.p.cfg.SettleRepository(k.l.session)
	}
	k.l.schedule.noteLook(k.want.whole, err)
	if err != nil {
		notify(k.l.watcher.failing)
	}
	return c, err
}

// requeueUnfinished requests another look if no changeset needed this one, or if it failed.
func (k *looking) requeueUnfinished() {
	if !k.done {
		k.l.schedule.requeueUnfinished(lookRequest{whole: k.want.whole, paths: k.want.paths})
	}
}

// changed returns a scope's files. It reuses the last comparison if both ends are unchanged.
func (k *looking) changed(ctx context.Context, uri ahp.URI,
	scope changeScope) (files []machine.ChangedFile, overlap bool, err error) {
	if err := k.l.record.load(ctx); err != nil {
		return nil, false, err
	}
	from, to, overlap, err := k.p.endsFrom(ctx, k.l, scope, k.dirs, k.now, k.base)
	if err != nil {
		return nil, overlap, err
	}
	last := k.l.schedule.lastShown(uri)
	again := &shown{from: from, to: to}
	current := last.isCurrent(from, to)
	if current {
		again.all = last.all
	} else if again.all, err = k.p.svc.Compare(ctx, k.l.session, from, to); err != nil {
		return nil, overlap, err
	}
	if files, err = k.own.ownFiles(ctx, scope, again.all); err != nil {
		return nil, overlap, err
	}
	again.files = slices.Clip(files)
	k.l.schedule.show(uri, again, last != nil && !current)
	return files, overlap, nil
}

// base returns the checkpoint that a scope is compared with, cached until commits or branches
// change.
func (k *looking) base(ctx context.Context, scope changeScope, dirs []string) (machine.Checkpoint, error) {
	key := scope.kind + " " + fmt.Sprint(dirs)
	if had, ok := k.l.bases.get(key); ok {
		return had, nil
	}
	c, err := k.p.base(ctx, k.l, scope, dirs)
	if err == nil {
		k.l.bases.put(key, c)
	}
	return c, err
}

// base returns the commit that a scope is compared with.
func (p *Part) base(ctx context.Context, l *ledger, scope changeScope, dirs []string) (machine.Checkpoint, error) {
	if scope.kind == kindBranch {
		return p.svc.Branch(ctx, l.session, dirs)
	}
	return p.svc.Head(ctx, l.session, dirs)
}

// markRecomputing publishes that changesets are being recomputed, except those that no write can
// change.
func (p *Part) markRecomputing(ctx context.Context, l *ledger, uris []ahp.URI) {
	var live []ahp.URI
	for _, uri := range uris {
		if _, scope, ok := p.parseURI(uri); ok && !p.isSettled(ctx, l, scope) {
			live = append(live, uri)
		}
	}
	err := p.core.Do(ctx, func(tx *hub.Tx) {
		for _, uri := range live {
			if s, ok := hub.StateOf[*ahp.ChangesetState](tx, uri); ok && s.Status == ahp.ChangesetStatusReady {
				tx.Apply(uri, &ahp.ChangesetStatusChangedAction{Status: ahp.ChangesetStatusRecomputing})
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		p.core.Log.Warn("changesets are not said to be computed again", "session", l.session, "err", err)
	}
}

// isSettled reports whether changes of files no longer affect a scope, because all its turns have
// ended.
func (p *Part) isSettled(ctx context.Context, l *ledger, scope changeScope) bool {
	turns := scope.turns()
	for _, turn := range turns {
		if r, err := l.turns.get(ctx, turn); err != nil || r == nil || r.To == nil || p.running.has(turn) {
			return false
		}
	}
	return len(turns) > 0
}
