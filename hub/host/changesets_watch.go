package host

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle      = 100 * time.Millisecond // after the first of a burst of writes
	mostFolders = 4096                   // watched for one session; with more it is looked at from time to time
	pollFirst   = time.Second
	pollLast    = 10 * time.Second
)

// watch keeps a session's changesets up to date while somebody follows them: it is told of writes where the system can
// tell, and looks from time to time where it cannot.
func (h *Host) watch(l *ledger) {
	defer func() {
		l.mu.Lock()
		l.watching = false
		l.mu.Unlock()
	}()
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		if err = h.watchFolders(h.ctx, l, w); err == nil {
			err = h.follow(l, w)
		}
	}
	if err != nil && h.ctx.Err() == nil {
		h.log.Info("directories are looked at from time to time, as they cannot be watched", "session", l.session, "why", err)
		h.poll(l)
	}
}

type tooManyFolders struct{}

func (tooManyFolders) Error() string { return "there are too many directories" }

// watchFolders watches every directory that counts; those watched already stay.
func (h *Host) watchFolders(ctx context.Context, l *ledger, w *fsnotify.Watcher) error {
	folders, more, err := h.changesetService().Folders(ctx, l.session, h.changeDirs(l.session), mostFolders)
	if err != nil {
		return err
	}
	if more {
		return tooManyFolders{}
	}
	for _, f := range folders {
		if err := w.Add(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// follow has the changesets looked at after writes. It returns nil when nobody follows them any more.
func (h *Host) follow(l *ledger, w *fsnotify.Watcher) error {
	var due <-chan time.Time
	var grown bool // directories may be new
	idle := time.NewTicker(time.Minute)
	defer idle.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return nil
		case e := <-w.Events:
			if strings.HasSuffix(e.Name, ".lock") {
				continue // of git, at work
			}
			grown = grown || e.Has(fsnotify.Create)
			if due == nil {
				due = time.After(settle)
			}
		case <-w.Errors: // most likely more was written than could be told
			grown = true
			if due == nil {
				due = time.After(settle)
			}
		case <-due:
			due = nil
			if grown {
				grown = false
				if err := h.watchFolders(h.ctx, l, w); err != nil {
					return err
				}
			}
			h.kick(l)
		case <-idle.C:
			if !h.stillFollowed(l) {
				return nil
			}
		}
	}
}

// poll looks less and less often, and takes a tenth of the time at most.
func (h *Host) poll(l *ledger) {
	for wait := pollFirst; h.stillFollowed(l) && sleep(h.ctx, max(wait, 10*l.lastTook())) == nil; wait = min(2*wait, pollLast) {
		h.kick(l)
	}
}

func (l *ledger) lastTook() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.took
}

// stillFollowed lets changesets sleep that nobody follows, and tells whether any is left.
func (h *Host) stillFollowed(l *ledger) bool {
	l.mu.Lock()
	uris := l.uris()
	gone := l.gone
	l.mu.Unlock()
	for _, uri := range uris {
		h.hub.Sleep(uri, h.now().Add(-h.cfg.Limits.Idle))
		if _, _, awake := h.hub.State(uri); !awake {
			l.leave(uri)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !gone && len(l.open) > 0
}
