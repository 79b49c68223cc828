package changes

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	pollFirst = time.Second
	pollLast  = 10 * time.Second
	pollFor   = time.Minute // interval of retries to watch
)

// watch keeps a session's changesets up to date while they have subscribers: by watching for writes
// if possible, otherwise by polling.
func (p *Part) watch(l *ledger) {
	for {
		if over := p.core.Ctx.Err() != nil; (over || !p.stillFollowed(l)) && l.schedule.stopWatching(over) {
			return
		}
		err := p.watchOnce(l)
		if err == nil || p.core.Ctx.Err() != nil {
			continue
		}
		if errors.Is(err, machine.ErrOffline) {
			l.watcher.setWatched(false)
			p.requestLook(l, lookRequest{whole: true}) // fails, and keeps the last shown state
			p.awaitMachine(l)
			continue
		}
		p.core.Log.Info("directories are looked at from time to time, as they cannot be watched", "session", l.session,
			"why", err)
		p.publishWatching(l, err)
		p.poll(l)
	}
}

// awaitMachine waits until machines are online again, or for the retry interval.
func (p *Part) awaitMachine(l *ledger) {
	late := time.NewTimer(cmp.Or(p.cfg.PollFor, pollFor))
	defer late.Stop()
	select {
	case <-l.watcher.back:
	case <-late.C:
	case <-p.core.Ctx.Done():
	}
}

// WatchAgain retries to watch the sessions whose machine was offline.
func (p *Part) WatchAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.ledgers {
		notify(l.watcher.back)
	}
}

// watcher tracks a session's watched directories, and whether the system reports writes in them.
type watcher struct {
	moved   chan struct{} // holds one: the directories changed
	failing chan struct{} // holds one: a look failed
	back    chan struct{} // holds one: machines are online again

	mu      sync.Mutex
	dirs    []string
	watched bool
}

// moveTo sets the directories, and restarts watching if they changed.
func (w *watcher) moveTo(dirs []string) (others bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	others = w.dirs != nil && !slices.Equal(w.dirs, dirs)
	w.dirs = slices.Clone(dirs)
	if others {
		notify(w.moved)
	}
	return others
}

func (w *watcher) setWatched(watched bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = watched
}

// isWatched reports whether the system reports writes.
func (w *watcher) isWatched() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watched
}

// notify fills a channel that holds one; a pending notification covers this one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // already notified
	}
}

// watchOnce watches until there are no subscribers or the directories change, or returns why it
// cannot.
func (p *Part) watchOnce(l *ledger) error {
	w, err := p.svc.Watch(p.core.Ctx, l.session, p.core.LocalDirs(l.session), p.cfg.Folders)
	if err != nil {
		return err
	}
	defer w.Close()
	p.requestLook(l, lookRequest{whole: true}) // for writes before watching started
	p.publishWatching(l, nil)
	return p.lookAfterWrites(l, w)
}

// lookAfterWrites requests looks after writes. It returns nil when there are no subscribers, or the
// directories change.
func (p *Part) lookAfterWrites(l *ledger, w machine.ChangesWatch) error {
	idle := time.NewTicker(time.Minute)
	defer idle.Stop()
	for {
		select {
		case <-p.core.Ctx.Done():
			return nil
		case got, ok := <-w.Written():
			if !ok {
				p.requestLook(l, lookRequest{whole: true, known: true})
				return w.Err()
			}
			p.requestLook(l, lookAfter(got))
		case <-l.watcher.moved:
			p.requestLook(l, lookRequest{whole: true, known: true})
			return nil
		case <-l.watcher.failing:
			if err := l.schedule.lastFailure(); err != nil {
				return err
			}
		case <-idle.C:
			if !p.stillFollowed(l) {
				return nil
			}
		}
	}
}

// lookAfter returns the look that is needed after writes.
func lookAfter(got machine.Written) lookRequest {
	w := lookRequest{whole: got.Whole, bases: got.Bases, known: true}
	for _, path := range got.Paths {
		w.add(path)
	}
	return w
}

// poll looks less and less often while nothing changes, and uses at most a twentieth of the time.
// It ends after a minute, or when a failing look succeeds again.
func (p *Part) poll(l *ledger) {
	failed := l.schedule.lastFailure() != nil
	until := time.Now().Add(cmp.Or(p.cfg.PollFor, pollFor))
	for wait := pollFirst; time.Now().Before(until) && (!failed || l.schedule.lastFailure() != nil); wait = min(2*wait,
		pollLast) {
		if !p.stillFollowed(l) || core.Sleep(p.core.Ctx, max(wait, 20*l.schedule.lastTook())) != nil {
			return
		}
		if l.schedule.takeFound() {
			wait = pollFirst / 2
		}
		p.requestLook(l, lookRequest{whole: true})
	}
}

// stillFollowed unloads changesets without subscribers, and reports whether any is left.
func (p *Part) stillFollowed(l *ledger) bool {
	for _, uri := range l.schedule.uris() {
		p.core.Hub.Sleep(uri, p.core.Now().Add(-p.cfg.Idle))
		if _, _, awake := p.core.Hub.State(uri); !awake {
			l.schedule.leave(uri)
		}
	}
	return l.schedule.isFollowed()
}
