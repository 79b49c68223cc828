package changes

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/host/core"
)

const (
	settle    = 50 * time.Millisecond // after the first of a burst of writes
	pollFirst = time.Second
	pollLast  = 10 * time.Second
	pollFor   = time.Minute // until watching is tried again
)

// watch keeps a session's changesets up to date while they have followers: it is told of writes where the system can
// tell, and looks from time to time where it cannot.
func (p *Part) watch(l *ledger) {
	for {
		if over := p.core.Ctx.Err() != nil; (over || !p.stillFollowed(l)) && l.schedule.stopWatching(over) {
			return
		}
		err := p.watchOnce(l)
		if err == nil || p.core.Ctx.Err() != nil {
			continue
		}
		p.core.Log.Info("directories are looked at from time to time, as they cannot be watched", "session", l.session, "why", err)
		p.publishWatching(l, err)
		p.poll(l)
	}
}

// watcher knows which directories of a session are watched, and whether the system tells of writes in them.
type watcher struct {
	moved   chan struct{} // holds one: the directories are others now
	failing chan struct{} // holds one: a look failed

	mu   sync.Mutex
	dirs []string
	told bool
}

// moveTo notes the directories that are looked at and has others watched.
func (w *watcher) moveTo(dirs []string) (others bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	others = w.dirs != nil && !slices.Equal(w.dirs, dirs)
	w.dirs = slices.Clone(dirs)
	if others {
		say(w.moved)
	}
	return others
}

func (w *watcher) setTold(told bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = told
}

// isTold reports whether the system tells of writes.
func (w *watcher) isTold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}

// say leaves word in a channel that holds one.
func say(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // said already
	}
}

// watchOnce watches until there are no followers, or an error.
func (p *Part) watchOnce(l *ledger) error {
	f := &folderWatch{p: p, l: l, git: map[string]changeset.Folder{}}
	begin := p.cfg.Notify
	if begin == nil {
		begin = SystemNotifier
	}
	var err error
	if f.system, f.events, f.errors, err = begin(); err != nil {
		return fmt.Errorf("the system allows no more watchers (on Linux raise fs.inotify.max_user_instances): %w", err)
	}
	defer f.system.Close()
	if err := f.walk(nil); err != nil {
		return err
	}
	p.want(l, wanted{whole: true}) // what was written before it was watched
	p.publishWatching(l, nil)
	return f.follow()
}

// NotifyFunc starts a Notifier and returns its events and errors.
type NotifyFunc func() (Notifier, <-chan fsnotify.Event, <-chan error, error)

// Notifier has the system tell of what is written in folders.
type Notifier interface {
	Add(folder string) error
	Remove(folder string) error
	Close() error
}

// SystemNotifier is the NotifyFunc of the operating system.
func SystemNotifier() (Notifier, <-chan fsnotify.Event, <-chan error, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, nil, err
	}
	return w, w.Events, w.Errors, nil
}

// poll looks less and less often while nothing is different, and takes a twentieth of the time at most. It ends after a
// minute, or when a look that failed goes well again.
func (p *Part) poll(l *ledger) {
	failed := l.schedule.lastFailure() != nil
	until := time.Now().Add(cmp.Or(p.cfg.PollFor, pollFor))
	for wait := pollFirst; time.Now().Before(until) && (!failed || l.schedule.lastFailure() != nil); wait = min(2*wait, pollLast) {
		if !p.stillFollowed(l) || core.Sleep(p.core.Ctx, max(wait, 20*l.schedule.lastTook())) != nil {
			return
		}
		if l.schedule.takeFound() {
			wait = pollFirst / 2
		}
		p.want(l, wanted{whole: true})
	}
}

// stillFollowed lets changesets without followers sleep, and reports whether any is left.
func (p *Part) stillFollowed(l *ledger) bool {
	for _, uri := range l.schedule.uris() {
		p.core.Hub.Sleep(uri, p.core.Now().Add(-p.core.Limits.Idle))
		if _, _, awake := p.core.Hub.State(uri); !awake {
			l.schedule.leave(uri)
		}
	}
	return l.schedule.isFollowed()
}

// folderWatch is told by the system of what is written in the directories of a session. Its goroutine alone touches it.
type folderWatch struct {
	p      *Part
	l      *ledger
	system Notifier
	events <-chan fsnotify.Event
	errors <-chan error
	dirs   []string                    // of the session, when they were walked
	seen   map[string]bool             // everything that is watched
	git    map[string]changeset.Folder // those of git's
	due    wanted
	made   []string // what is new, perhaps folders
	rewalk bool     // what is ignored may have changed
}

// walk watches every folder in which a change would count, or those at and below some paths. What does not count any
// more is let go.
func (f *folderWatch) walk(below []string) error {
	if below == nil {
		f.dirs = f.p.core.LocalDirs(f.l.session)
	}
	counted := map[string]bool{}
	err := f.p.svc.Walk(f.p.core.Ctx, f.l.session, f.dirs, below, func(d changeset.Folder) error {
		counted[d.Path] = true
		return f.add(d)
	})
	if err != nil || below != nil {
		return err
	}
	for path := range f.seen {
		if !counted[path] {
			_ = f.system.Remove(path) // gone already
			delete(f.git, path)
		}
	}
	f.seen = counted
	return nil
}

func (f *folderWatch) add(d changeset.Folder) error {
	if d.Git || d.Refs {
		f.git[d.Path] = d
	}
	if f.seen[d.Path] {
		return nil
	}
	if most := mostFolders(f.p.core.Limits); len(f.seen) >= most {
		return fmt.Errorf("there are more than %d directories, the most that are watched: add what is not source to .gitignore", most)
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	err := f.system.Add(d.Path)
	switch {
	case os.IsNotExist(err) || os.IsPermission(err):
		return nil
	case err != nil:
		return fmt.Errorf("the system watches no more directories (on Linux raise fs.inotify.max_user_watches): %w", err)
	}
	f.seen[d.Path] = true
	return nil
}

// mostFolders is how many folders are watched. Where the system has a file open for each file in a watched folder, as
// macOS has, they are few.
func mostFolders(l core.Limits) int {
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		return l.Folders
	}
	return min(l.Folders, 500)
}

// follow has the changesets looked at after writes. It returns nil when they have no followers any more.
func (f *folderWatch) follow() error {
	var settled <-chan time.Time
	idle := time.NewTicker(time.Minute)
	defer idle.Stop()
	for {
		select {
		case <-f.p.core.Ctx.Done():
			return nil
		case e := <-f.events:
			f.take(e)
		case <-f.errors: // most likely more was written than could be told
			f.due.whole, f.due.known, f.rewalk = true, true, true
		case <-f.l.watcher.moved:
			f.due.whole, f.due.known, f.rewalk = true, true, true
		case <-f.l.watcher.failing:
			if err := f.l.schedule.lastFailure(); err != nil {
				return err
			}
		case <-settled:
			settled = nil
			if err := f.look(); err != nil {
				return err
			}
		case <-idle.C:
			if !f.p.stillFollowed(f.l) {
				return nil
			}
		}
		if settled == nil && f.due.known {
			settled = time.After(settle)
		}
	}
}

// look watches what is new and has the changesets looked at.
func (f *folderWatch) look() error {
	due, made, rewalk := f.due, f.made, f.rewalk
	f.due, f.made, f.rewalk = wanted{}, nil, false
	var err error
	switch made = folders(made); {
	case rewalk:
		err = f.walk(nil)
	case len(made) > 0:
		err = f.walk(made)
	}
	f.p.want(f.l, due)
	return err
}

// folders are the directories among some paths.
func folders(paths []string) (dirs []string) {
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			dirs = append(dirs, p)
		}
	}
	return dirs
}

// mostMade is how many new paths are looked at one by one.
const mostMade = 1000

// take sorts what happened into what must be looked at.
func (f *folderWatch) take(e fsnotify.Event) {
	dir, base := filepath.Split(e.Name)
	dir = filepath.Clean(dir)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(f.seen, e.Name) // the system has let go of it, if it was a folder
	}
	if g, ok := f.git[dir]; ok {
		f.takeGit(g, e, base)
		return
	}
	if _, ok := f.git[e.Name]; ok {
		return // the folder itself
	}
	f.due.add(e.Name)
	if base == ".git" || base == ".gitignore" {
		f.due.bases, f.rewalk = true, true
	}
	if e.Has(fsnotify.Create) {
		f.made = append(f.made, e.Name)
		f.rewalk = f.rewalk || len(f.made) > mostMade
	}
}

// takeGit sorts what happened in a folder of git's. Lock files are git at work.
func (f *folderWatch) takeGit(g changeset.Folder, e fsnotify.Event, base string) {
	switch {
	case strings.HasSuffix(base, ".lock"):
	case g.Nested != "":
		if base == "HEAD" || base == "index" {
			f.due.add(g.Nested)
		}
	case g.Refs, base == "HEAD", base == "packed-refs":
		f.due.bases, f.due.known = true, true
		if g.Refs && e.Has(fsnotify.Create) {
			_ = changeset.WalkRefs(e.Name, f.add) // a branch in a folder is seen again at the next full look
		}
	case base == "index":
		f.due.whole, f.due.known = true, true
	case base == "config", base == "exclude", base == "attributes", base == "sparse-checkout":
		f.due.whole, f.due.known, f.due.bases, f.rewalk = true, true, true, true
	}
}
