package custom

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ahphub/ahphub/hub/machine"
)

const (
	debounce    = 200 * time.Millisecond // after the first of a burst of writes
	mostFolders = 300                    // watched folders of one root
	ownEvery    = 2 * time.Second        // between checks of the host's own file
)

// Library caches the customizations of roots for their followers: one watch, however many sessions
// use it.
type Library struct {
	limits Limits
	log    *slog.Logger
	poke   chan struct{}

	ownEvery time.Duration

	mu      sync.Mutex
	shelves map[Root]*shelf
}

// shelf is a root with followers.
type shelf struct {
	found         Found
	loaded        bool // found was read
	stale         bool
	partlyWatched bool // some folders are not watched
	callbacks     map[int]func()
	next          int
	folders       map[string]bool // watched; used by Run only
	own           fs.FileInfo     // of an Own root: its file at the last check, nil for none; used by Run only
}

// NewLibrary returns a library. Without Run, nothing is watched.
func NewLibrary(limits Limits, log *slog.Logger) *Library {
	return &Library{limits: limits, log: log, poke: make(chan struct{}, 1), ownEvery: ownEvery,
		shelves: map[Root]*shelf{}}
}

// Look returns the current customizations of a root.
func (l *Library) Look(root Root) Found {
	l.mu.Lock()
	if s := l.shelves[root]; s != nil && s.loaded && !s.stale && !s.partlyWatched {
		defer l.mu.Unlock()
		return s.found
	}
	l.mu.Unlock()
	return Find(root, l.limits)
}

// Follow calls tell, which must not block, after each change of a root, until stop is called.
func (l *Library) Follow(root Root, tell func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shelves[root]
	if s == nil {
		s = &shelf{stale: true, callbacks: map[int]func(){}, folders: map[string]bool{}}
		l.shelves[root] = s
	}
	id := s.next
	s.next++
	s.callbacks[id] = tell
	l.wake()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(s.callbacks, id)
		l.wake()
	}
}

func (l *Library) wake() {
	select {
	case l.poke <- struct{}{}:
	default: // already awake
	}
}

// Run watches until ctx ends. If the system refuses further watches, each Look reads the root.
func (l *Library) Run(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		l.log.Warn("customizations are not watched (on Linux raise fs.inotify.max_user_instances)", "err", err)
		return nil
	}
	defer w.Close()
	own := time.NewTicker(l.ownEvery)
	defer own.Stop()
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.Events:
			if l.touched(e.Name, e.Has(fsnotify.Remove|fsnotify.Rename)) && due == nil {
				due = time.After(debounce)
			}
		case <-w.Errors: // most likely some events were lost
			l.touched("", false)
			l.wake()
		case <-l.poke:
			l.removeUnfollowed(w)
			l.refreshStale(w)
		case <-own.C:
			if l.lookAtOwn() {
				l.refreshStale(w)
			}
		case <-due:
			due = nil
			l.refreshStale(w)
		}
	}
}

// lookAtOwn marks the Own roots whose file changed, and reports whether there are any. They are not
// watched: the system reports each page that the journal writes to the data directory, which cost
// an action more than the write itself.
func (l *Library) lookAtOwn() (any bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for root, s := range l.shelves {
		if root.Place != Own {
			continue
		}
		now := ownFile(root)
		fresh := now != nil && time.Since(now.ModTime()) < l.ownEvery // a later write may have the same time
		if fresh || !isSameFile(s.own, now) {
			s.stale, any = true, true
		}
	}
	return any
}

// ownFile returns the file of an Own root, nil for none.
func ownFile(root Root) fs.FileInfo {
	info, err := os.Stat(filepath.Join(root.Dir, machine.OwnServers))
	if err != nil {
		return nil
	}
	return info
}

func isSameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// touched marks the roots that a path may affect, all with "", and reports whether there are any.
func (l *Library) touched(path string, gone bool) (any bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for root, s := range l.shelves {
		dir := filepath.Dir(path)
		if path == "" || s.folders[dir] && (dir != root.Dir || matters(root, filepath.Base(path))) || s.folders[path] &&
			path != root.Dir {
			s.stale, any = true, true
		}
		if gone {
			delete(s.folders, path) // the system ended its watch
		}
	}
	return any
}

// matters reports whether a name directly in a root is read: many other files are written there.
func matters(root Root, name string) bool {
	for _, sp := range spotsOf(root.Place) {
		if head, _, _ := strings.Cut(sp.dir, "/"); head == name {
			return true
		}
		for _, f := range sp.files {
			if sp.dir == "." && f == name {
				return true
			}
		}
	}
	for _, c := range configsOf(root.Place) {
		if head, _, _ := strings.Cut(c.file, "/"); head == name {
			return true
		}
	}
	return name == ".agents" || strings.HasSuffix(name, "plugin") && strings.HasPrefix(name, ".")
}

// removeUnfollowed removes roots without followers.
func (l *Library) removeUnfollowed(w *fsnotify.Watcher) {
	l.mu.Lock()
	var gone []string
	for root, s := range l.shelves {
		if len(s.callbacks) == 0 {
			delete(l.shelves, root)
			for f := range s.folders {
				gone = append(gone, f)
			}
		}
	}
	l.mu.Unlock()
	for _, f := range gone {
		l.leave(w, f)
	}
}

// leave ends the watch of a folder unless another root uses it.
func (l *Library) leave(w *fsnotify.Watcher, folder string) {
	l.mu.Lock()
	for _, s := range l.shelves {
		if s.folders[folder] {
			l.mu.Unlock()
			return
		}
	}
	l.mu.Unlock()
	_ = w.Remove(folder) // may have ended already
}

// refreshStale reads the roots that may have changed, and notifies their followers.
func (l *Library) refreshStale(w *fsnotify.Watcher) {
	for {
		root, s := l.nextStale()
		if s == nil {
			return
		}
		if root.Place == Own {
			s.own = ownFile(root) // before it is read
		}
		found, folders := find(root, l.limits)
		if root.Place == Own {
			folders = nil
		}
		if l.watch(w, s, folders) {
			found, _ = find(root, l.limits) // for writes before the watch began
		}
		l.mu.Lock()
		changed := !s.loaded || !reflect.DeepEqual(found, s.found) // what followers saw before may be older
		s.found, s.loaded = found, true
		var callbacks []func()
		for _, t := range s.callbacks {
			callbacks = append(callbacks, t)
		}
		l.mu.Unlock()
		if changed {
			for _, tell := range callbacks {
				tell()
			}
		}
	}
}

func (l *Library) nextStale() (Root, *shelf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for root, s := range l.shelves {
		if s.stale {
			s.stale = false
			return root, s
		}
	}
	return Root{}, nil
}

// watch updates the watched folders of a root, and reports whether any is new.
func (l *Library) watch(w *fsnotify.Watcher, s *shelf, folders []string) (more bool) {
	now := map[string]bool{}
	partly := len(folders) > mostFolders
	for _, f := range folders[:min(len(folders), mostFolders)] {
		if !s.folders[f] {
			if err := w.Add(f); err != nil {
				l.log.Debug("a folder of customizations is not watched", "folder", f, "err", err)
				partly = true
				continue
			}
			more = true
		}
		now[f] = true
	}
	l.mu.Lock()
	was := s.folders
	s.folders, s.partlyWatched = now, partly
	l.mu.Unlock()
	for f := range was {
		if !now[f] {
			l.leave(w, f)
		}
	}
	return more
}
