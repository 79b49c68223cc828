package people

import (
	"sync"
	"time"
)

const (
	begunLife = 10 * time.Minute
	mostBegun = 10_000
)

// begun is a sign-in at a provider that has not come back.
type begun struct {
	// hash of the cookie's secret; what the ID token must say; what proves the code ours
	browser, nonce, verifier string
	redirect, next           string
	until                    time.Time
}

// begunSignIns are kept in memory, by their state. Past a limit the oldest goes, so that a client
// that begins without end
// takes no memory.
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

// take returns what was begun with a state, once.
func (s *begunSignIns) take(state string) (begun, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.by[state]
	delete(s.by, state)
	return b, ok && !s.now().After(b.until)
}
