// Package hosttest has what the test worlds of the host, its parts and its callers share: a timeline on a real store,
// a host that runs until the test ends, and waiting for a condition. It does not import the host, whose own tests use
// it too.
package hosttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/store"
)

// Timeline is a hub whose journal a store carries.
type Timeline struct {
	Hub   *hub.Hub
	Store *store.Store
	Boot  hub.Boot // what the store had when it was opened

	t       testing.TB
	end     context.CancelFunc
	journal sync.WaitGroup
	closing sync.Once
	crashed bool
}

// OpenTimeline opens the store of a directory, and a hub that continues where it ended. The test closes it.
func OpenTimeline(t testing.TB, dir string, derive func(*hub.Tx, *hub.Envelope)) *Timeline {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	Must(t, err)
	boot, err := s.Boot(t.Context())
	Must(t, err)
	l := &Timeline{t: t, Store: s, Boot: boot, Hub: hub.New(hub.Config{Journal: true, Boot: boot, Derive: derive})}
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	l.journal.Go(func() { _ = s.Run(ctx, l.Hub) })
	return l
}

// Crash ends the journal at once: nothing that happens from now on is kept.
func (l *Timeline) Crash() {
	l.crashed = true
	l.end()
	l.journal.Wait()
}

// Close closes the store, after everything is durable unless the timeline has crashed. Later calls do nothing.
func (l *Timeline) Close() {
	l.t.Helper()
	l.closing.Do(func() {
		if !l.crashed {
			Eventually(l.t, "the journal", func() bool { return l.Hub.Stats().UnjournaledBytes == 0 })
		}
		l.end()
		l.journal.Wait()
		if err := l.Store.Close(); err != nil {
			l.t.Error(err)
		}
	})
}

// Runner is a host, or what runs as one does.
type Runner interface {
	Start(ctx context.Context) error
	Run(ctx context.Context) error
}

// Run starts a host and runs it until stop is called, which waits for it. Later calls of stop do nothing.
func Run(t testing.TB, h Runner) (stop func()) {
	t.Helper()
	Must(t, h.Start(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Run(ctx) })
	return sync.OnceFunc(func() { cancel(); running.Wait() })
}

// Must fails the test for an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is how long Eventually waits: long enough for a machine that has much else to do.
const patience = 20 * time.Second

// Eventually waits until ok returns true, and fails the test when that takes too long.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for %s in vain", what)
		}
	}
}
