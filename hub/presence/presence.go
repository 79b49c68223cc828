// Package presence tracks which people view which session, and where in it. The protocol has no
// messages for it, so it is the host's own state in memory, only for pages.
package presence

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Config of a Tracker; the zero value is usable.
type Config struct {
	// Linger is how long a person is still shown after their last page closed, so that a reload
	// does not flicker. Default 5 s, at most 10 s.
	Linger time.Duration
	// MaxPeople bounds the people in one session and MaxVisits the open pages of one person there;
	// people and pages beyond that are not shown. Defaults 256 and 32.
	MaxPeople, MaxVisits int
	Now                  func() time.Time
}

// Person is one principal in one session.
type Person struct {
	ID, Name string
	Guest    bool // came by a link
	Role     access.Role
	Hue      int       // one of eight; unique among up to eight people
	Place    Place     // of the most recently used page
	Since    time.Time // first seen in this stay
	Here     bool      // false while lingering after the last page closed
}

// Tracker holds the people of all sessions. Close it to stop its timers.
type Tracker struct {
	cfg      Config
	mu       sync.Mutex
	sessions map[ahp.URI]*session
	closed   bool
}

type session struct {
	people   map[string]*guest
	watchers map[chan struct{}]struct{}
}

// New returns an empty tracker.
func New(cfg Config) *Tracker {
	cfg.Linger = min(cmp.Or(cfg.Linger, 5*time.Second), 10*time.Second)
	cfg.MaxPeople = cmp.Or(cfg.MaxPeople, 256)
	cfg.MaxVisits = cmp.Or(cfg.MaxVisits, 32)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Tracker{cfg: cfg, sessions: map[ahp.URI]*session{}}
}

// Join records an open page of p on the session. End the visit when the page's stream ends. At a
// limit Join returns nil, a visit on which every method does nothing.
func (r *Tracker) Join(p access.Principal, uri ahp.URI, at Place) *Visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ensure(uri)
	g := s.people[p.ID]
	full := g == nil && len(s.people) >= r.cfg.MaxPeople || g != nil && len(g.visits) >= r.cfg.MaxVisits
	if r.closed || full {
		r.dropIfEmpty(uri, s)
		return nil
	}
	if g == nil {
		g = &guest{id: p.ID, since: r.cfg.Now(), hue: s.pickHue(p.ID)}
		s.people[p.ID] = g
	}
	g.name, g.role, g.byLink = p.Name, p.Role, p.Link != ""
	v := &Visit{tracker: r, uri: uri, guest: g, at: at.clipped()}
	g.stopLinger()
	g.visits = append(g.visits, v)
	s.notify()
	return v
}

// People returns the people in a session in order of arrival.
func (r *Tracker) People(uri ahp.URI) []Person {
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

// Count returns the number of people over all sessions, including those who linger.
func (r *Tracker) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		n += len(s.people)
	}
	return n
}

// Watch ticks after every change of a session's people; pending ticks merge. Call cancel when done.
func (r *Tracker) Watch(uri ahp.URI) (changed <-chan struct{}, cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ch := r.ensure(uri), make(chan struct{}, 1)
	s.watchers[ch] = struct{}{}
	return ch, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(s.watchers, ch)
		r.dropIfEmpty(uri, s)
	}
}

// Close stops every timer; later joins have no effect.
func (r *Tracker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.sessions {
		for _, g := range s.people {
			g.stopLinger()
		}
	}
}

func (r *Tracker) ensure(uri ahp.URI) *session {
	s := r.sessions[uri]
	if s == nil {
		s = &session{people: map[string]*guest{}, watchers: map[chan struct{}]struct{}{}}
		r.sessions[uri] = s
	}
	return s
}

func (r *Tracker) dropIfEmpty(uri ahp.URI, s *session) {
	if len(s.people) == 0 && len(s.watchers) == 0 && r.sessions[uri] == s {
		delete(r.sessions, uri)
	}
}

// startLinger keeps a person for a moment after their last page closed.
func (r *Tracker) startLinger(uri ahp.URI, g *guest) {
	if r.closed {
		return
	}
	g.stopLinger()
	g.gone = time.AfterFunc(r.cfg.Linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if g.gone == nil {
			return // rejoined while the timer fired
		}
		g.gone = nil
		r.forget(uri, g)
	})
}

// forget removes a person without open pages, and notifies watchers.
func (r *Tracker) forget(uri ahp.URI, g *guest) {
	s := r.sessions[uri]
	if s == nil {
		return
	}
	if len(g.visits) == 0 && s.people[g.id] == g {
		delete(s.people, g.id)
	}
	s.notify()
	r.dropIfEmpty(uri, s)
}

// pickHue returns the hue derived from a person's id, so that it is the same in every session, or
// the next one that fewer people have.
func (s *session) pickHue(id string) int {
	var used [texts.Hues]int
	for _, g := range s.people {
		used[g.hue]++
	}
	own := texts.Hue(id)
	least := own
	for i := range used {
		if at := (own + i) % len(used); used[at] < used[least] {
			least = at
		}
	}
	return least
}

func (s *session) notify() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
