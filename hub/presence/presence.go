// Package presence knows who looks at which session right now, and where in it. The protocol has no
// shape for it, so it is the host's own state: in memory, for pages alone.
package presence

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Config of a Room; the zero value is usable.
type Config struct {
	// Linger is how long somebody is still shown after the last page closed, so that a
	// reload does not flicker. Default 5 s, never more than 10 s.
	Linger time.Duration
	// MaxPeople bounds the people of one session and MaxVisits the open pages of one
	// person there; whoever comes later is not shown. Defaults 256 and 32.
	MaxPeople, MaxVisits int
	Now                  func() time.Time
}

// Person is one principal in one session.
type Person struct {
	ID, Name string
	Guest    bool // came by a link
	Role     access.Role
	Hue      int       // of eight; no two have the same while there are no more than eight
	Place    Place     // of the page they used last
	Since    time.Time // first seen in this stay
	Here     bool      // false while lingering after the last page closed
}

// Room holds everybody. Close it to stop its timers.
type Room struct {
	cfg      Config
	mu       sync.Mutex
	sessions map[ahp.URI]*session
	closed   bool
}

type session struct {
	people   map[string]*guest
	watchers map[chan struct{}]struct{}
}

// New makes an empty room.
func New(cfg Config) *Room {
	cfg.Linger = min(cmp.Or(cfg.Linger, 5*time.Second), 10*time.Second)
	cfg.MaxPeople = cmp.Or(cfg.MaxPeople, 256)
	cfg.MaxVisits = cmp.Or(cfg.MaxVisits, 32)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Room{cfg: cfg, sessions: map[ahp.URI]*session{}}
}

// Join says that a page of p is open on the session. End the visit when its stream ends. Where there is no
// room left the visit is nil, which may be used as any other and shows nobody.
func (r *Room) Join(p access.Principal, uri ahp.URI, at Place) *Visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open(uri)
	g := s.people[p.ID]
	full := g == nil && len(s.people) >= r.cfg.MaxPeople || g != nil && len(g.visits) >= r.cfg.MaxVisits
	if r.closed || full {
		r.drop(uri, s)
		return nil
	}
	if g == nil {
		g = &guest{id: p.ID, since: r.cfg.Now(), hue: s.hue()}
		s.people[p.ID] = g
	}
	g.name, g.role, g.byLink = p.Name, p.Role, p.Link != ""
	v := &Visit{room: r, uri: uri, guest: g, at: at.clipped()}
	g.stay()
	g.visits = append(g.visits, v)
	s.tell()
	return v
}

// People of a session in order of arrival.
func (r *Room) People(uri ahp.URI) []Person {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[uri]
	if s == nil {
		return nil
	}
	list := make([]Person, 0, len(s.people))
	for _, g := range s.people {
		if p, ok := g.person(); ok {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Person) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Count is how many people the room holds, over all sessions, and those who just left.
func (r *Room) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		n += len(s.people)
	}
	return n
}

// Watch ticks after every change of a session's people; ticks not yet taken merge.
// Call cancel when done.
func (r *Room) Watch(uri ahp.URI) (changed <-chan struct{}, cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ch := r.open(uri), make(chan struct{}, 1)
	s.watchers[ch] = struct{}{}
	return ch, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(s.watchers, ch)
		r.drop(uri, s)
	}
}

// Close stops every timer; nobody joins afterwards.
func (r *Room) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.sessions {
		for _, g := range s.people {
			g.stay()
		}
	}
}

func (r *Room) open(uri ahp.URI) *session {
	s := r.sessions[uri]
	if s == nil {
		s = &session{people: map[string]*guest{}, watchers: map[chan struct{}]struct{}{}}
		r.sessions[uri] = s
	}
	return s
}

func (r *Room) drop(uri ahp.URI, s *session) {
	if len(s.people) == 0 && len(s.watchers) == 0 && r.sessions[uri] == s {
		delete(r.sessions, uri)
	}
}

// linger keeps somebody whose last page closed for a moment.
func (r *Room) linger(uri ahp.URI, g *guest) {
	if r.closed {
		return
	}
	g.stay()
	g.gone = time.AfterFunc(r.cfg.Linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if g.gone == nil {
			return // came back while the timer fired
		}
		g.gone = nil
		r.forget(uri, g)
	})
}

// forget removes somebody who has no page open any more, and tells the others.
func (r *Room) forget(uri ahp.URI, g *guest) {
	s := r.sessions[uri]
	if s == nil {
		return
	}
	if len(g.visits) == 0 && s.people[g.id] == g {
		delete(s.people, g.id)
	}
	s.tell()
	r.drop(uri, s)
}

// hue is the one that the fewest have.
func (s *session) hue() (least int) {
	var used [8]int
	for _, g := range s.people {
		used[g.hue]++
	}
	for h, n := range used {
		if n < used[least] {
			least = h
		}
	}
	return least
}

func (s *session) tell() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
