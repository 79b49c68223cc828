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

// mostPaths is how many written files are looked at one by one.
const mostPaths = 1000

// wanted is what the next look at a session's directories is to be about. The zero value computes what was never
// computed, from what is known.
type wanted struct {
	whole bool            // every file is looked at
	paths map[string]bool // files that were written
	bases bool            // commits or branches may be others
	known bool            // something did change: what is shown is out of date until the look is over
}

func (w *wanted) add(path string) {
	w.known = true
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	w.paths[path] = true
	w.narrow()
}

func (w *wanted) join(more wanted) {
	w.whole, w.bases, w.known = w.whole || more.whole, w.bases || more.bases, w.known || more.known
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	maps.Copy(w.paths, more.paths)
	w.narrow()
}

// narrow looks at everything where very much was written.
func (w *wanted) narrow() {
	if w.whole || len(w.paths) > mostPaths {
		w.whole, w.paths = true, nil
	}
}

// refresh has every file looked at and the open changesets of a session brought up to date, since something changed.
func (p *Part) refresh(l *ledger) { p.requestLook(l, wanted{whole: true, bases: true, known: true}) }

// Refresh has every file of a session looked at and its open changesets brought up to date.
func (p *Part) Refresh(session ahp.URI) { p.refresh(p.ledger(session)) }

// RefreshAll has the open changesets of all sessions looked at, as after the owner decided where repositories may lead.
func (p *Part) RefreshAll() {
	p.mu.Lock()
	ledgers := slices.Collect(maps.Values(p.ledgers))
	p.mu.Unlock()
	slices.SortFunc(ledgers, func(a, b *ledger) int { return cmp.Compare(a.session, b.session) })
	for _, l := range ledgers {
		p.refresh(l)
	}
}

// requestLook has the open changesets of a session brought up to date; requests that come during a look share
// the next one.
func (p *Part) requestLook(l *ledger, w wanted) {
	if l.schedule.request(w) {
		p.core.Go(func() { p.runLooks(l) })
	}
}

// runLooks looks until no request is left. It rests after each look as long as the look took, and three times as
// long after one at every file, so that a directory that always changes does not take a core.
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
		_ = core.Sleep(p.core.Ctx, min(rest, 10*time.Second)) // the host stopping is seen above
	}
}

// looking is one look for all open changesets.
type looking struct {
	p    *Part
	l    *ledger
	want wanted
	dirs []string
	own  attribution
	now  func() (machine.Checkpoint, error) // at most once for all of them
	done bool                               // now went well
}

// lookNow computes the open changesets of a session that may be different, and publishes what is.
func (p *Part) lookNow(ctx context.Context, l *ledger, w wanted) {
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
	defer k.requestRest()
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

// requestRest leaves to the next look what no open changeset asked for, or what could not be computed.
func (k *looking) requestRest() {
	if !k.done {
		k.l.schedule.requestRest(wanted{whole: k.want.whole, paths: k.want.paths})
	}
}

// changed is what a scope holds now, from the last time when nothing it is made of is different.
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

// base returns what a scope is compared with, remembered until commits or branches move.
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

// base returns the commit a scope is compared with.
func (p *Part) base(ctx context.Context, l *ledger, scope changeScope, dirs []string) (machine.Checkpoint, error) {
	if scope.kind == kindBranch {
		return p.svc.Branch(ctx, l.session, dirs)
	}
	return p.svc.Head(ctx, l.session, dirs)
}

// markRecomputing publishes that changesets are being computed again, except those that no write can change any
// more.
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

// isSettled reports whether nothing that happens to files changes a scope any more: it lies between turns that are
// over.
func (p *Part) isSettled(ctx context.Context, l *ledger, scope changeScope) bool {
	turns := scope.turns()
	for _, turn := range turns {
		if r, err := l.turns.get(ctx, turn); err != nil || r == nil || r.To == nil || p.running.has(turn) {
			return false
		}
	}
	return len(turns) > 0
}
