package changeset

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ahphub/ahphub/hub/machine"
)

// settle is how long a Watch waits after the first of a burst of writes.
const settle = 50 * time.Millisecond

// mostMade limits the new paths that are looked at one by one.
const mostMade = 1000

// NotifyFunc starts a Notifier and returns its events and errors.
type NotifyFunc func() (Notifier, <-chan fsnotify.Event, <-chan error, error)

// Notifier reports writes to folders.
type Notifier interface {
	Add(folder string) error
	Remove(folder string) error
	Close() error
}

// SystemNotifier starts the operating system's notifier.
func SystemNotifier() (Notifier, <-chan fsnotify.Event, <-chan error, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, nil, err
	}
	return w, w.Events, w.Errors, nil
}

// Watch reports writes to directories.
type Watch struct {
	svc     *Service
	ws      machine.Workspace
	dirs    []string
	most    int
	cancel  context.CancelFunc
	done    chan struct{}
	written chan machine.Written
	err     error // set before written is closed

	// Only the goroutine uses these.
	system Notifier
	events <-chan fsnotify.Event
	errors <-chan error
	seen   map[string]bool   // all watched folders
	git    map[string]Folder // the git folders among them
	due    due
	made   []string // new paths, which may be folders
	rewalk bool     // the set of ignored folders may have changed
}

// Watch watches every folder in which a change of the directories counts, up to most. It fails at
// this or the system's limit; the error says what to do.
func (s *Service) Watch(ctx context.Context, ws machine.Workspace, dirs []string, most int) (*Watch, error) {
	begin := s.cfg.Notify
	if begin == nil {
		begin = SystemNotifier
	}
	w := &Watch{svc: s, ws: ws, dirs: dirs, most: mostFolders(most), git: map[string]Folder{}, seen: map[string]bool{},
		written: make(chan machine.Written), done: make(chan struct{})}
	var err error
	if w.system, w.events, w.errors, err = begin(); err != nil {
		return nil, fmt.Errorf("the system allows no more watchers (on Linux, raise fs.inotify.max_user_instances): %w",
			err)
	}
	if err := w.walk(ctx, nil); err != nil {
		_ = w.system.Close() // nothing was watched
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go w.run(ctx)
	return w, nil
}

// mostFolders returns how many folders may be watched: few on systems like macOS, which open each
// file in a watched folder.
func mostFolders(most int) int {
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		return most
	}
	return min(most, 500)
}

// Written returns a channel of writes, which is closed when watching ends. Writes are merged while
// the receiver is slow.
func (w *Watch) Written() <-chan machine.Written { return w.written }

// Err returns why watching ended, nil after Close or the end of its context. Call it after Written
// is closed.
func (w *Watch) Err() error { return w.err }

// Close ends watching, and waits for the end.
func (w *Watch) Close() {
	w.cancel()
	<-w.done
}

func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	defer w.system.Close()
	defer close(w.written)
	var settled <-chan time.Time
	var ready due
	for {
		var out chan<- machine.Written
		if !ready.isEmpty() {
			out = w.written
		}
		select {
		case <-ctx.Done():
			return
		case e := <-w.events:
			w.take(e)
		case <-w.errors: // most likely an overflow of the system's queue
			w.due.whole, w.rewalk = true, true
		case out <- ready.written():
			ready = due{}
		case <-settled:
			settled = nil
			if w.err = w.walkNew(ctx); w.err != nil {
				return
			}
			ready.join(w.due)
			w.due = due{}
		}
		if settled == nil && !w.due.isEmpty() {
			settled = time.After(settle)
		}
	}
}

// walk watches every folder in which a change counts, or those at and below some paths, and removes
// other watches.
func (w *Watch) walk(ctx context.Context, below []string) error {
	counted := map[string]bool{}
	err := w.svc.Walk(ctx, w.ws, w.dirs, below, func(d Folder) error {
		counted[d.Path] = true
		return w.add(d)
	})
	if err != nil || below != nil {
		return err
	}
	for path := range w.seen {
		if !counted[path] {
			_ = w.system.Remove(path) // may be gone already
			delete(w.git, path)
		}
	}
	w.seen = counted
	return nil
}

func (w *Watch) add(d Folder) error {
	if d.Git || d.Refs {
		w.git[d.Path] = d
	}
	if w.seen[d.Path] {
		return nil
	}
	if len(w.seen) >= w.most {
		return fmt.Errorf("there are more than %d directories, the most that are watched. Add generated files to "+
			".gitignore", w.most)
	}
	err := w.system.Add(d.Path)
	switch {
	case os.IsNotExist(err) || os.IsPermission(err):
		return nil
	case err != nil:
		return fmt.Errorf("the system watches no more directories (on Linux, raise fs.inotify.max_user_watches): %w",
			err)
	}
	w.seen[d.Path] = true
	return nil
}

// walkNew watches new folders.
func (w *Watch) walkNew(ctx context.Context) error {
	made, rewalk := folders(w.made), w.rewalk
	w.made, w.rewalk = nil, false
	switch {
	case rewalk:
		return w.walk(ctx, nil)
	case len(made) > 0:
		return w.walk(ctx, made)
	}
	return nil
}

// folders returns the directories among some paths.
func folders(paths []string) (dirs []string) {
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			dirs = append(dirs, p)
		}
	}
	return dirs
}

// take determines what to look at after an event.
func (w *Watch) take(e fsnotify.Event) {
	dir, base := filepath.Split(e.Name)
	dir = filepath.Clean(dir)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.seen, e.Name) // the system has removed the watch, if it was a folder
	}
	if g, ok := w.git[dir]; ok {
		w.takeGit(g, e, base)
		return
	}
	if _, ok := w.git[e.Name]; ok {
		return // the folder itself
	}
	w.due.add(e.Name)
	if base == ".git" || base == ".gitignore" {
		w.due.bases, w.rewalk = true, true
	}
	if e.Has(fsnotify.Create) {
		w.made = append(w.made, e.Name)
		w.rewalk = w.rewalk || len(w.made) > mostMade
	}
}

// takeGit does this for an event in a git folder. Lock files do not count.
func (w *Watch) takeGit(g Folder, e fsnotify.Event, base string) {
	switch {
	case strings.HasSuffix(base, ".lock"):
	case g.Nested != "":
		if base == "HEAD" || base == "index" {
			w.due.add(g.Nested)
		}
	case g.Refs, base == "HEAD", base == "packed-refs":
		w.due.bases = true
		if g.Refs && e.Has(fsnotify.Create) {
			_ = walkRefs(e.Name, w.add) // the next full look finds branches in a folder
		}
	case base == "index":
		w.due.whole = true
	case base == "config", base == "exclude", base == "attributes", base == "sparse-checkout":
		w.due.whole, w.due.bases, w.rewalk = true, true, true
	}
}

// due gathers writes until they are sent.
type due struct {
	paths        map[string]bool
	whole, bases bool
}

func (d *due) isEmpty() bool { return len(d.paths) == 0 && !d.whole && !d.bases }

// add adds a file; above a limit, everything counts as written.
func (d *due) add(path string) {
	if d.whole {
		return
	}
	if d.paths == nil {
		d.paths = map[string]bool{}
	}
	d.paths[path] = true
	if len(d.paths) > mostMade {
		d.whole, d.paths = true, nil
	}
}

func (d *due) join(more due) {
	d.whole, d.bases = d.whole || more.whole, d.bases || more.bases
	for path := range more.paths {
		d.add(path)
	}
}

func (d *due) written() machine.Written {
	out := machine.Written{Whole: d.whole, Bases: d.bases}
	if !d.whole {
		out.Paths = slices.Sorted(maps.Keys(d.paths))
	}
	return out
}
