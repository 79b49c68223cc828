// Package quota limits how much of a scarce resource callers hold, such as open connections or
// bytes of unfinished frames: each caller, all guests of one link together, and the whole process.
package quota

import (
	"errors"
	"sync"
)

var (
	// ErrHolder refuses a caller at its own limit.
	ErrHolder = errors.New("quota: this caller holds as much as one may")
	// ErrGroup refuses a guest whose link's guests are together at their limit.
	ErrGroup = errors.New("quota: the guests of this link hold as much as they may")
	// ErrTotal refuses every caller while the process is at its limit.
	ErrTotal = errors.New("quota: the process holds as much as it may")
)

// Holder is a caller. Holders with the same Group, such as the guests of one link, also share a
// limit; "" is no group. A holder without an ID only has its group's limit.
type Holder struct{ ID, Group string }

// Limits are the limits of a Pool. A field of 0 means no limit.
type Limits struct {
	Account int64 // of a holder without a group
	Guest   int64 // of a holder in a group
	Group   int64 // of all holders in one group
	Total   int64 // of all holders
}

// Pool counts what holders hold. A nil Pool has no limits.
type Pool struct {
	limits Limits

	mu      sync.Mutex
	total   int64
	holders map[string]int64
	groups  map[string]int64
}

// New returns an unused pool.
func New(l Limits) *Pool {
	return &Pool{limits: l, holders: map[string]int64{}, groups: map[string]int64{}}
}

// Take takes n for a holder, or returns the limit that refuses it.
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

// Return returns n taken by Take.
func (p *Pool) Return(h Holder, n int64) {
	if p == nil || n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(h, -n)
}

// Move transfers n taken by Take to another holder; after an error, nothing changes.
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

// count removes the entry of a holder that holds nothing.
func count(m map[string]int64, key string, n int64) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}

// Used returns what all holders hold.
func (p *Pool) Used() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
