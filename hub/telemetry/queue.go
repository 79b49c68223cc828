package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// queue holds items for the next batch. put never blocks: items over the limit are dropped and
// counted.
type queue[T any] struct {
	most, batch int
	dropped     prometheus.Counter
	wake        chan struct{}

	mu    sync.Mutex
	items []T
}

func newQueue[T any](l Limits, dropped prometheus.Counter, wake chan struct{}) *queue[T] {
	return &queue[T]{most: l.Waiting, batch: l.Batch, dropped: dropped, wake: wake}
}

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	n := len(q.items)
	if n < q.most {
		q.items = append(q.items, v)
	}
	q.mu.Unlock()
	switch {
	case n >= q.most:
		q.dropped.Inc()
	case n+1 == q.batch:
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}
