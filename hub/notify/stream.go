package notify

import (
	"context"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

const (
	keptNotices = 200              // remembered for pages that reconnect
	maxStreams  = 2000             // open at once
	streamQueue = 64               // pending for one page; beyond it the page is disconnected and reconnects
	stale       = 10 * time.Minute // older notices are not sent to pages
)

// live sends notices to open pages. A stream gets every notice and passes on only those for its
// viewer.
type live struct {
	mu   sync.Mutex
	ring []*Notice
	open map[*Stream]struct{}
}

// Stream is the stream of one page.
type Stream struct {
	C    <-chan *Notice // closed when the page should reconnect
	c    chan *Notice
	live *live
}

// tell sends a notice to every stream; each checks whether it is for its viewer.
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

// Follow opens a page's stream. It starts with the notices newer than after, the id of the page's
// last one. It returns false if too many streams are open. Close the stream.
func (n *Notifier) Follow(after string) (*Stream, bool) {
	l := &n.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= maxStreams {
		return nil, false
	}
	s := &Stream{c: make(chan *Notice, streamQueue+keptNotices), live: l}
	s.C = s.c
	for i := range l.ring {
		if l.ring[i].ID == after {
			for _, x := range l.ring[i+1:] {
				s.c <- x // the channel has room for the whole ring
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

// Shown returns the notice as a browser of who shows it; false if it does not.
func (n *Notifier) Shown(ctx context.Context, who access.Principal, x Notice) (Notice, bool) {
	x, ok := x.For(who)
	if !ok {
		return x, false
	}
	p, err := n.Prefs(who.ID)
	if err != nil {
		n.log.WarnContext(ctx, "cannot show a notification in a browser", "who", who, "err", err)
		return x, false
	}
	return x, p.Hears(Browser, &x)
}
