package box

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// wrappers are the processes outside of a cell that wait for its programs. nsenter stops itself when its program is
// stopped, and must be woken to notice that it continues or has ended.
type wrappers struct {
	slept atomic.Bool // programs were paused

	mu  sync.Mutex
	all map[*os.Process]bool
}

// add tracks a process until leave is called.
func (w *wrappers) add(p *os.Process) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*os.Process]bool{}
	}
	w.all[p] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, p)
	}
}

// wake resumes stopped wrappers, and returns the number of wrappers, or 0 if nothing was paused.
func (w *wrappers) wake() int {
	if !w.slept.Load() {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.all {
		_ = p.Signal(syscall.SIGCONT) // which fails once it was waited for
	}
	return len(w.all)
}

// wakeLast wakes wrappers until they have noticed that their programs ended.
func (w *wrappers) wakeLast() {
	for range 100 {
		if w.wake() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
