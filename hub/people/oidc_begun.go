package people

import (
	"sync"
	"time"
)

const (
	begunLife = 10 * time.Minute
	mostBegun = 10_000
)

// begun is a started sign-in at a provider.
type begun struct {
	// hash of the cookie's secret; nonce for the ID token; PKCE verifier
	browser, nonce, verifier string
	redirect, next           string
	until                    time.Time
}

// begunSignIns keeps started sign-ins in memory, by state. Above a limit it drops the oldest, so
// that a client cannot exhaust memory.
type begunSignIns struct {
	now func() time.Time

	mu    sync.Mutex
	by    map[string]begun
	order []string // states, oldest first; some may be gone
}

func (s *begunSignIns) add(state string, b begun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]begun{}
	}
	now := s.now()
	for len(s.order) > 0 && (len(s.order) >= mostBegun || now.After(s.by[s.order[0]].until)) {
		delete(s.by, s.order[0])
		s.order = s.order[1:]
	}
	b.until = now.Add(begunLife)
	s.by[state] = b
	s.order = append(s.order, state)
}

// take returns a started sign-in by its state, once.
func (s *begunSignIns) take(state string) (begun, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.by[state]
	delete(s.by, state)
	return b, ok && !s.now().After(b.until)
}
