// Package quota bounds what callers hold of something scarce, as open connections or bytes of unfinished frames: each
// caller, all guests of one link together, and the whole process.
package quota

import (
	"errors"
	"sync"
)

var (
	// ErrHolder refuses a caller who holds as much as one may.
	ErrHolder = errors.New("quota: this caller holds as much as one may")
	// ErrGroup refuses a guest of a link whose guests together hold as much as they may.
	ErrGroup = errors.New("quota: the guests of this link hold as much as they may")
	// ErrTotal refuses everyone once the process holds as much as it may.
	ErrTotal = errors.New("quota: the process holds as much as it may")
)

// Holder is a caller. Those with the same Group, as the guests of one link, also share a bound; "" is no group. A
// holder without an ID has the bound of its group alone.
type Holder struct{ ID, Group string }

// Limits are the bounds of a Pool. A field of 0 bounds nothing.
type Limits struct {
	Account int64 // of a holder without a group
	Guest   int64 // of a holder in a group
	Group   int64 // of all holders in one group
	Total   int64 // of all holders
}

// Pool counts what holders took. A nil Pool bounds nothing.
type Pool struct {
	limits Limits

	mu      sync.Mutex
	total   int64
	holders map[string]int64
	groups  map[string]int64
}

// New makes a pool of which nothing is taken.
func New(l Limits) *Pool {
	return &Pool{limits: l, holders: map[string]int64{}, groups: map[string]int64{}}
}

// Take takes n for a holder, or returns the bound that refuses it.
func (p *Pool) Take(h Holder, n int64) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(h, n)
}

func (p *Pool) take(h Holder, n int64) error {
	most := p.limits.Account
	if h.Group != "" {
		most = p.limits.Guest
	}
	switch {
	case h.ID != "" && over(p.holders[h.ID]+n, most):
		return ErrHolder
	case h.Group != "" && over(p.groups[h.Group]+n, p.limits.Group):
		return ErrGroup
	case over(p.total+n, p.limits.Total):
		return ErrTotal
	}
	p.add(h, n)
	return nil
}

func over(n, most int64) bool { return most > 0 && n > most }

// Return gives back what Take took.
func (p *Pool) Return(h Holder, n int64) {
	if p == nil || n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(h, -n)
}

// Move has another holder hold what Take took; an error leaves it where it is.
func (p *Pool) Move(from, to Holder, n int64) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(from, -n)
	err := p.take(to, n)
	if err != nil {
		p.add(from, n)
	}
	return err
}

func (p *Pool) add(h Holder, n int64) {
	p.total += n
	if h.ID != "" {
		count(p.holders, h.ID, n)
	}
	if h.Group != "" {
		count(p.groups, h.Group, n)
	}
}

// count keeps no entry for a holder of nothing.
func count(m map[string]int64, key string, n int64) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}

// Used is what all holders have.
func (p *Pool) Used() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
