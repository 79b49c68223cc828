package access

import (
	"context"
	"sync"
)

// life is how long what lets people in lasts. What is open by it ends in the call that ends it: whoever revokes something knows that
// nothing goes on.
type life struct {
	mu    sync.Mutex
	cause error                                 // why it is over
	open  map[*context.CancelCauseFunc]struct{} // that are bound to it
}

func newLife() *life { return &life{open: map[*context.CancelCauseFunc]struct{}{}} }

// bind returns a context that ends with it. Call cancel when done.
func (l *life) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		end(l.cause)
		return ctx, func() {}
	}
	l.open[&end] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		delete(l.open, &end)
		l.mu.Unlock()
		end(context.Canceled)
	}
}

// end ends it; only the first cause counts.
func (l *life) end(cause error) {
	l.mu.Lock()
	open := l.open
	if l.cause == nil {
		l.cause = cause
	}
	l.open = nil
	l.mu.Unlock()
	for end := range open {
		(*end)(cause)
	}
}
