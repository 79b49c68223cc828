package presence

import (
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Visit is one open page of a person. On a nil Visit every method does nothing.
type Visit struct {
	tracker *Tracker
	uri     ahp.URI
	guest   *guest
	at      Place
	lost    bool // its connection is lost
	over    bool
}

// guest is a person with their open pages, the most recently used last.
type guest struct {
	id, name string
	byLink   bool
	hue      int
	role     access.Role
	since    time.Time
	last     Place // shown while lingering
	visits   []*Visit
	gone     *time.Timer // nil unless lingering
}

// At returns the last position of the page's viewer.
func (v *Visit) At() Place {
	if v == nil {
		return Place{}
	}
	v.tracker.mu.Lock()
	defer v.tracker.mu.Unlock()
	return v.at
}

// Session returns the session that the page shows.
func (v *Visit) Session() ahp.URI {
	if v == nil {
		return ""
	}
	return v.uri
}

// Move sets the position of the page's viewer.
func (v *Visit) Move(at Place) {
	v.change(func() bool {
		if at = at.clipped(); v.at == at {
			return false
		}
		v.at = at
		if i := slices.Index(v.guest.visits, v); i >= 0 && !at.Away {
			v.guest.visits = append(slices.Delete(v.guest.visits, i, i+1), v)
		}
		return true
	})
}

// MarkLost records that the page stopped answering. Its viewer is hidden until the page answers
// again or has another page open.
func (v *Visit) MarkLost() { v.setLost(true) }

// MarkBack records that a lost page answers again.
func (v *Visit) MarkBack() { v.setLost(false) }

func (v *Visit) setLost(lost bool) {
	v.change(func() bool {
		if v.lost == lost {
			return false
		}
		v.lost = lost
		if !lost {
			v.guest.stopLinger()
		}
		return true
	})
}

// End records that the page was closed. Its viewer lingers, unless the page was lost.
func (v *Visit) End() {
	v.change(func() bool {
		g := v.guest
		v.over = true
		g.visits = slices.DeleteFunc(g.visits, func(o *Visit) bool { return o == v })
		switch {
		case g.isPresent():
		case v.lost:
			v.tracker.forget(v.uri, g)
		default:
			g.last = v.at
			v.tracker.startLinger(v.uri, g)
		}
		return true
	})
}

// change applies do to a visit that has not ended, and notifies watchers if do reports a change.
func (v *Visit) change(do func() bool) {
	if v == nil {
		return
	}
	v.tracker.mu.Lock()
	defer v.tracker.mu.Unlock()
	if v.over || !do() {
		return
	}
	if s := v.tracker.sessions[v.uri]; s != nil {
		s.notify()
	}
}

// isPresent reports whether at least one page is open and answers.
func (g *guest) isPresent() bool {
	return slices.ContainsFunc(g.visits, func(v *Visit) bool { return !v.lost })
}

// person returns the person as others see them; false when they are hidden.
func (g *guest) person() (Person, bool) {
	p := Person{ID: g.id, Name: g.name, Guest: g.byLink, Role: g.role, Hue: g.hue, Since: g.since, Place: g.last,
		Here: g.isPresent()}
	best := -1
	for i, v := range g.visits {
		if !v.lost && (best < 0 || !v.at.Away || g.visits[best].at.Away) {
			best = i
		}
	}
	if best >= 0 {
		p.Place = g.visits[best].at
	}
	return p, p.Here || g.gone != nil
}

func (g *guest) stopLinger() {
	if g.gone != nil {
		g.gone.Stop()
		g.gone = nil
	}
}
