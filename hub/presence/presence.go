// Package presence knows who looks at which session right now. The protocol has no
// shape for it, so it is the host's own state: in memory, for pages alone.
package presence

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

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
	Role     access.Role
	Where    string    // page, file or terminal last looked at; at most 200 bytes
	Since    time.Time // first seen in this stay
	Seen     time.Time // last arrival, move or leave
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

type guest struct {
	Person
	visits int
	gone   *time.Timer
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

// Join says that a page of p is open on the session. Call leave when its stream ends;
// calling it again does nothing.
func (r *Room) Join(p access.Principal, uri ahp.URI, where string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open(uri)
	g := s.people[p.ID]
	full := g == nil && len(s.people) >= r.cfg.MaxPeople || g != nil && g.visits >= r.cfg.MaxVisits
	if r.closed || full {
		r.drop(uri, s)
		return func() {}
	}
	if g == nil {
		g = &guest{Person: Person{ID: p.ID, Since: r.cfg.Now()}}
		s.people[p.ID] = g
	}
	g.arrive(p, clip(where), r.cfg.Now())
	s.tell()
	return sync.OnceFunc(func() { r.leave(uri, g) })
}

// Update moves somebody who is here to another place; for others it does nothing.
func (r *Room) Update(p access.Principal, uri ahp.URI, where string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[uri]
	if s == nil || s.people[p.ID] == nil {
		return
	}
	g := s.people[p.ID]
	g.Seen = r.cfg.Now()
	if where = clip(where); g.Where != where {
		g.Where = where
		s.tell()
	}
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
		list = append(list, g.Person)
	}
	slices.SortFunc(list, func(a, b Person) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list
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

func (r *Room) leave(uri ahp.URI, g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.visits--
	g.Seen = r.cfg.Now()
	if g.visits > 0 || r.closed {
		return
	}
	g.Here = false
	g.gone = time.AfterFunc(r.cfg.Linger, func() { r.forget(uri, g) })
	if s := r.sessions[uri]; s != nil {
		s.tell()
	}
}

func (r *Room) forget(uri ahp.URI, g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[uri]
	if s == nil || s.people[g.ID] != g || g.visits > 0 {
		return // came back while the timer fired
	}
	delete(s.people, g.ID)
	s.tell()
	r.drop(uri, s)
}

func (s *session) tell() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (g *guest) arrive(p access.Principal, where string, now time.Time) {
	g.stay()
	g.visits++
	g.Name, g.Role, g.Where, g.Seen, g.Here = p.Name, p.Role, where, now, true
}

func (g *guest) stay() {
	if g.gone != nil {
		g.gone.Stop()
		g.gone = nil
	}
}

func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
