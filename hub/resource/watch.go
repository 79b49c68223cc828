package resource

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
)

const (
	settle      = 100 * time.Millisecond // after the first change of a burst
	mostFolders = 4096                   // of one watch
)

// Watch receives the system's notifications of changes below a file or directory.
type Watch struct {
	uri       ahp.URI // as requested, links not resolved
	dir       string  // the watched directory
	only      string  // the only watched file in dir; "" for all
	recursive bool
	globs     globs
	system    *fsnotify.Watcher
	guard     *guard.Guard
	folders   int
}

// Watch starts watching an existing path; Run it, or Close it. It does not follow links below the path.
func (f Files) Watch(p ahp.CreateResourceWatchParams) (*Watch, error) {
	g, err := newGlobs(p.Includes, p.Excludes)
	if err != nil {
		return nil, err
	}
	s, err := f.open(p.URI, reading)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	info, err := within(&s, (*os.Root).Stat)
	if err != nil {
		return nil, problem(p.URI, err)
	}
	real, err := filepath.EvalSymlinks(s.path())
	if err != nil {
		return nil, problem(p.URI, err)
	}
	path, _ := Path(p.URI) // open has checked it
	w := &Watch{uri: URI(path), dir: real, recursive: p.Recursive != nil && *p.Recursive, globs: g, guard: f.Guard}
	if !info.IsDir() {
		w.dir, w.only, w.recursive = filepath.Dir(real), filepath.Base(real), false
	}
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		return nil, broken(p.URI, err)
	}
	if err := w.add(w.dir, nil); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close ends a watch that is not running.
func (w *Watch) Close() error { return w.system.Close() }

// add watches a directory, and everything below it if recursive; it passes the paths it finds to seen.
func (w *Watch) add(dir string, seen func(path string)) error {
	if !w.recursive {
		return w.addOne(dir)
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != w.dir, errors.Is(err, fs.ErrPermission) && path != w.dir:
			return nil
		case err != nil:
			return problem(w.uri, err)
		case path != w.dir && d.IsDir() && w.guard.Stops(path):
			return filepath.SkipDir
		case path != w.dir && w.globs.excluded(w.rel(path)):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if seen != nil && path != dir {
			seen(path)
		}
		if d.IsDir() {
			return w.addOne(path)
		}
		return nil
	})
}

func (w *Watch) addOne(dir string) error {
	if w.folders >= mostFolders {
		return ahp.Errorf(ahp.CodeInvalidParams,
			"%.200s has over %d directories: watch one inside of it, or exclude some", w.uri, mostFolders)
	}
	err := w.system.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken(w.uri, err)
	}
	w.folders++
	return nil
}

// rel returns a path relative to the watched one, with slashes; "." for the watched path itself.
func (w *Watch) rel(path string) string {
	rel, err := filepath.Rel(w.dir, path)
	if err != nil || rel == w.only {
		return "."
	}
	return filepath.ToSlash(rel)
}

// Run reports changes, in batches that are never empty (AHP requirement 186), until ctx ends.
func (w *Watch) Run(ctx context.Context, tell func([]ahp.ResourceChange)) {
	defer w.Close()
	b := newBurst(w)
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.system.Events:
			if !ok {
				return
			}
			w.take(b, e)
		case _, ok := <-w.system.Errors: // most likely the queue overflowed
			if !ok {
				return
			}
			b.overflow()
		case <-due:
			due = nil
			for _, batch := range b.drain() {
				tell(batch)
			}
			continue
		}
		if due == nil && !b.empty() {
			due = time.After(settle)
		}
	}
}

func (w *Watch) take(b *burst, e fsnotify.Event) {
	if w.only != "" && filepath.Base(e.Name) != w.only {
		return
	}
	switch {
	case e.Has(fsnotify.Create):
		b.add(e.Name, ahp.ResourceChangeTypeAdded)
		if info, err := os.Lstat(e.Name); w.recursive && err == nil && info.IsDir() &&
			!w.globs.excluded(w.rel(e.Name)) {
			found := func(path string) { b.add(path, ahp.ResourceChangeTypeAdded) }
			if w.add(e.Name, found) != nil {
				b.overflow()
			}
		}
	case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
		b.add(e.Name, ahp.ResourceChangeTypeDeleted)
	case e.Has(fsnotify.Write):
		b.add(e.Name, ahp.ResourceChangeTypeUpdated)
	}
}
