package store

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
)

// guard detects that the store's files are no longer those it opened: the directory was removed, or
// the lock that keeps other processes from writing. Later writes would be lost with the last
// handle, or damage the other process's data.
type guard struct {
	mu    sync.Mutex
	files map[string]os.FileInfo // by path, as opened
	lost  error
}

// lostError names the missing file.
type lostError struct{ path string }

func (e *lostError) Error() string { return e.Reason() }

// Reason describes the problem and the remedy for people.
func (e *lostError) Reason() string {
	return e.path + " was removed or replaced while ahphub runs: put it back, or stop ahphub and restore a backup"
}

// watch records the files that must stay.
func (g *guard) watch(lock *os.File, dir string) error {
	info, err := lock.Stat()
	if err != nil {
		return err
	}
	g.files = map[string]os.FileInfo{filepath.Join(dir, lockName): info}
	for _, name := range []string{databaseName, databaseName + "-wal"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil {
			g.files[path] = info
		}
	}
	return nil
}

// look compares the files with those now at their paths. It runs before each commit; its three
// calls take microseconds.
func (g *guard) look() error {
	for path, was := range g.files {
		if now, err := os.Stat(path); err != nil || !os.SameFile(was, now) {
			return &lostError{path}
		}
	}
	return nil
}

// check compares the files, and reports whether the result changed.
func (g *guard) check() (lost error, news bool) {
	lost = g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	news = (lost == nil) != (g.lost == nil)
	g.lost = lost
	return lost, news
}

// err returns the error of a lost file, or nil.
func (g *guard) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// keepGuard makes the host read-only while files are lost.
func (s *Store) keepGuard(ctx context.Context, h *hub.Hub) {
	tick := time.NewTicker(s.cfg.GuardEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		switch lost, news := s.guard.check(); {
		case !news:
		case lost != nil:
			s.log.Error("the data directory is lost: nothing is written until it is back", "err", lost)
			h.JournalFailed(lost)
		default:
			s.log.Info("the data directory is back")
			h.JournalBack()
		}
	}
}
