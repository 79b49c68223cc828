package core

import (
	"context"
	"sync"
)

// Lanes runs effects: in order within a key, concurrently between keys. A lane has a goroutine only
// while it has work.
type Lanes struct {
	mu     sync.Mutex
	queues map[string][]func(context.Context)
	closed bool
	wg     sync.WaitGroup
}

// NewLanes returns empty Lanes.
func NewLanes() *Lanes { return &Lanes{queues: map[string][]func(context.Context){}} }

// Add appends run to the lane of a key. After Close, it does nothing.
func (l *Lanes) Add(ctx context.Context, key string, run func(context.Context)) {
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

func (l *Lanes) drain(ctx context.Context, key string) {
	for run := l.next(key); run != nil; run = l.next(key) {
		run(ctx)
	}
}

func (l *Lanes) next(key string) func(context.Context) {
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

// Close rejects further work and waits until every lane is empty.
func (l *Lanes) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}
