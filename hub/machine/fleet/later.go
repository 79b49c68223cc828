package fleet

import (
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
)

// mostLater bounds what waits for a member to be back.
const mostLater = 10_000

// later is what members do that were offline when it was asked for, when they are back.
type later struct {
	mu      sync.Mutex
	waiting map[string][]func(node) error // by id
	follows bool
}

// onMembers does something on each member, at once. A member that is offline does it when it is back, while the hub
// runs, and its errors are not told any more.
func (r *Route) onMembers(do func(node) error) error {
	members := r.members.Machines()
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			n := node{m.Machine, m.ID, m.Name}
			err := machine.ErrOffline
			if m.Online {
				err = do(n)
			}
			if errors.Is(err, machine.ErrOffline) {
				r.doLater(m.ID, do)
				return
			}
			errs[i] = n.explain(err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// doLater does something on a member when it is back.
func (r *Route) doLater(id string, do func(node) error) {
	l := &r.later
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[string][]func(node) error{}
	}
	if len(l.waiting[id]) < mostLater {
		l.waiting[id] = append(l.waiting[id], do)
	}
	if !l.follows {
		l.follows = true
		changed, cancel := r.members.Watch()
		go r.follow(changed, cancel)
	}
}

// follow does what waits for members that are back, until nothing waits.
func (r *Route) follow(changed <-chan struct{}, cancel func()) {
	defer cancel()
	for r.catchUp() {
		select {
		case <-changed:
		case <-r.ctx.Done():
			return
		}
	}
}

// catchUp does what waits for members that are online. It reports whether something waits still.
func (r *Route) catchUp() bool {
	l := &r.later
	known := map[string]bool{}
	for _, m := range r.members.Machines() {
		known[m.ID] = true
		if !m.Online {
			continue
		}
		l.mu.Lock()
		list := l.waiting[m.ID]
		delete(l.waiting, m.ID)
		l.mu.Unlock()
		for i, do := range list {
			if err := do(node{m.Machine, m.ID, m.Name}); errors.Is(err, machine.ErrOffline) {
				l.mu.Lock()
				l.waiting[m.ID] = append(list[i:len(list):len(list)], l.waiting[m.ID]...)
				l.mu.Unlock()
				break
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.waiting {
		if !known[id] {
			delete(l.waiting, id) // it was revoked
		}
	}
	l.follows = len(l.waiting) > 0
	return l.follows
}
