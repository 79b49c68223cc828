// Package hosttest contains helpers for tests of the host, its parts and its callers: a timeline on
// a real store, a host that runs until the test ends, and waiting for a condition. It does not
// import the host, whose own tests use it.
package hosttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/store"
)

// Timeline is a hub with a store as its journal.
type Timeline struct {
	Hub   *hub.Hub
	Store *store.Store
	Boot  hub.Boot // content of the store when it was opened

	t       testing.TB
	end     context.CancelFunc
	journal sync.WaitGroup
	closing sync.Once
	crashed bool
}

// OpenTimeline opens the store in a directory, and a hub that continues from it. Callers close it.
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

// Crash stops the journal at once: later changes are lost.
func (l *Timeline) Crash() {
	l.crashed = true
	l.end()
	l.journal.Wait()
}

// Close closes the store. Unless the timeline crashed, it first waits until everything is durable.
// Later calls do nothing.
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

// Runner is a host, or a stand-in for one.
type Runner interface {
	Start(ctx context.Context) error
	Run(ctx context.Context) error
}

// Run starts and runs a host until stop is called, which waits for it. Later calls of stop do
// nothing.
func Run(t testing.TB, h Runner) (stop func()) {
	t.Helper()
	Must(t, h.Start(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Run(ctx) })
	return sync.OnceFunc(func() { cancel(); running.Wait() })
}

// Must fails the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is the timeout of Eventually, long enough for a busy machine.
const patience = 20 * time.Second

// Eventually waits until ok returns true, and fails the test after a timeout.
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
