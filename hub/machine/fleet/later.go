package fleet

import (
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub/machine"
)

// mostLater bounds the tasks that wait for a member to reconnect.
const mostLater = 10_000

// later holds the tasks for members that were offline, until they reconnect.
type later struct {
	mu      sync.Mutex
	waiting map[string][]func(node) error // by id
	follows bool
}

// onMembers calls do for all members in parallel. For an offline member it calls do after the member reconnects, while
// the hub runs, and ignores its errors.
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

// doLater calls do for a member after it reconnects.
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

// follow runs the tasks of members that reconnect, until no task is left.
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

// catchUp runs the tasks of members that are online. It reports whether tasks are left.
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
			delete(l.waiting, id) // the member was revoked
		}
	}
	l.follows = len(l.waiting) > 0
	return l.follows
}
