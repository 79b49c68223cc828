package notify

import (
	"context"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

const (
	keptNotices = 200              // remembered for pages that were cut off
	mostStreams = 2000             // open at once
	streamQueue = 64               // waiting for one page; past it the page is cut off and asks again
	stale       = 10 * time.Minute // what is older when it is first told is no news for a page
)

// live tells open pages. Everything in it is told to whom it is for, and to nobody else.
type live struct {
	mu   sync.Mutex
	ring []*Notice
	open map[*Stream]struct{}
}

// Stream is one page's.
type Stream struct {
	C    <-chan *Notice // closed when the page is to come again
	c    chan *Notice
	live *live
}

// tell sends a notice to every stream; each asks whether it is its own's.
func (l *live) tell(x Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ring = append(l.ring, &x); len(l.ring) > keptNotices {
		l.ring = append(l.ring[:0], l.ring[len(l.ring)-keptNotices:]...)
	}
	for s := range l.open {
		select {
		case s.c <- &x:
		default:
			l.drop(s)
		}
	}
}

func (l *live) drop(s *Stream) {
	if _, ok := l.open[s]; ok {
		delete(l.open, s)
		close(s.c)
	}
}

// Follow opens a page's stream; after is the id of the last notice it had, and what came since comes first. False: too
// many are open. Close it.
func (n *Notifier) Follow(after string) (*Stream, bool) {
	l := &n.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= mostStreams {
		return nil, false
	}
	s := &Stream{c: make(chan *Notice, streamQueue+keptNotices), live: l}
	s.C = s.c
	for i := range l.ring {
		if l.ring[i].ID == after {
			for _, x := range l.ring[i+1:] {
				s.c <- x // there is room for all of the ring
			}
		}
	}
	if l.open == nil {
		l.open = map[*Stream]struct{}{}
	}
	l.open[s] = struct{}{}
	return s, true
}

// Close ends the stream.
func (s *Stream) Close() {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	s.live.drop(s)
}

// Shown is a notice as somebody is shown it in a browser, if they are.
func (n *Notifier) Shown(ctx context.Context, who access.Principal, x Notice) (Notice, bool) {
	x, ok := x.For(who)
	if !ok {
		return x, false
	}
	p, err := n.Prefs(ctx, who.ID)
	if err != nil {
		n.log.WarnContext(ctx, "somebody is not shown a notice", "who", who, "err", err)
		return x, false
	}
	return x, p.Hears(Browser, &x)
}
