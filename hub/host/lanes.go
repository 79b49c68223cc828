package host

import (
	"context"
	"sync"
)

// lanes runs effects: those of one key in order, those of different keys side by side.
// A lane's goroutine lives only while it has work.
type lanes struct {
	mu     sync.Mutex
	queues map[string][]func(context.Context)
	closed bool
	wg     sync.WaitGroup
}

func newLanes() *lanes { return &lanes{queues: map[string][]func(context.Context){}} }

func (l *lanes) add(ctx context.Context, key string, run func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	queue, busy := l.queues[key]
	l.queues[key] = append(queue, run)
	if !busy {
		l.wg.Go(func() { l.drain(ctx, key) })
	}
}

func (l *lanes) drain(ctx context.Context, key string) {
	for run := l.next(key); run != nil; run = l.next(key) {
		run(ctx)
	}
}

func (l *lanes) next(key string) func(context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queues[key]
	if len(queue) == 0 {
		delete(l.queues, key)
		return nil
	}
	run := queue[0]
	queue[0] = nil
	l.queues[key] = queue[1:]
	return run
}

// close takes no more and waits for what is under way; what waits in a lane still runs.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}
