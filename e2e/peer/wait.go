package peer

import (
	"context"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Wait blocks until the condition is true. It checks the condition now and after every frame, on
// the calling goroutine without the peer's lock, so the condition may use the peer's methods.
func (p *Peer) Wait(ctx context.Context, condition func() bool) error {
	for {
		p.mu.Lock()
		next, closed, frames := p.changed, p.closed, p.frames
		p.mu.Unlock()
		if condition() {
			return nil
		}
		if closed != nil {
			return fmt.Errorf("peer: waiting without a connection: %w", closed)
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("peer: the condition did not come true after %d frames: %w", frames, ctx.Err())
		}
	}
}

// LastSeq returns the highest serverSeq seen.
func (p *Peer) LastSeq() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastSeq
}

// Frames returns how many frames the host has sent.
func (p *Peer) Frames() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frames
}

// Unanswered returns the number of actions without an answer.
func (p *Peer) Unanswered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending)
}

// Subscriptions returns the channels the peer mirrors.
func (p *Peer) Subscriptions() []ahp.URI {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]ahp.URI, 0, len(p.mirrors))
	for uri := range p.mirrors {
		out = append(out, uri)
	}
	slices.Sort(out)
	return out
}

// Notifications returns the last notifications from the host, up to a thousand.
func (p *Peer) Notifications() []Notification {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notifications)
}

// Err returns why the connection ended, nil while it is open.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Violations returns the protocol violations so far, up to a hundred.
func (p *Peer) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

func (p *Peer) violate(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.violateLocked(format, args...)
}

func (p *Peer) violateLocked(format string, args ...any) {
	if len(p.violations) < keptViolations {
		p.violations = append(p.violations, fmt.Sprintf(format, args...))
	}
}
