package access

import (
	"context"
	"sync"
)

// life is the lifetime of a link, account or token. Ending it ends everything bound to it before
// end returns, so that after a revocation nothing stays open.
type life struct {
	mu    sync.Mutex
	cause error                                 // why it ended
	open  map[*context.CancelCauseFunc]struct{} // contexts bound to it
}

func newLife() *life { return &life{open: map[*context.CancelCauseFunc]struct{}{}} }

// bind returns a context that ends with the life. Call cancel when done.
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

// end ends the life; only the first cause counts.
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
