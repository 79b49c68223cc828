package presence

import (
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Visit is one open page of somebody. A nil Visit does nothing.
type Visit struct {
	room  *Room
	uri   ahp.URI
	guest *guest
	at    Place
	lost  bool // it answers no more
	over  bool
}

// guest is somebody with their open pages, the one used last at the end.
type guest struct {
	id, name string
	byLink   bool
	hue      int
	role     access.Role
	since    time.Time
	last     Place // shown while lingering
	visits   []*Visit
	gone     *time.Timer // nil but while lingering
}

// At is where the reader of the page was last.
func (v *Visit) At() Place {
	if v == nil {
		return Place{}
	}
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	return v.at
}

// Session is what the page shows.
func (v *Visit) Session() ahp.URI {
	if v == nil {
		return ""
	}
	return v.uri
}

// Move says where the reader of the page is now.
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

// Lost says that the page answers no more: its reader is not shown until it is Back or another page is open.
func (v *Visit) Lost() { v.setLost(true) }

// Back says that a page that was Lost answers again.
func (v *Visit) Back() { v.setLost(false) }

func (v *Visit) setLost(lost bool) {
	v.change(func() bool {
		if v.lost == lost {
			return false
		}
		v.lost = lost
		if !lost {
			v.guest.stay()
		}
		return true
	})
}

// End says that the page is closed; its reader lingers a moment unless they were lost.
func (v *Visit) End() {
	v.change(func() bool {
		g := v.guest
		v.over = true
		g.visits = slices.DeleteFunc(g.visits, func(o *Visit) bool { return o == v })
		switch {
		case g.here():
		case v.lost:
			v.room.forget(v.uri, g)
		default:
			g.last = v.at
			v.room.linger(v.uri, g)
		}
		return true
	})
}

// change does something to a visit that is not over, and tells the others when it made a difference.
func (v *Visit) change(do func() bool) {
	if v == nil {
		return
	}
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	if v.over || !do() {
		return
	}
	if s := v.room.sessions[v.uri]; s != nil {
		s.tell()
	}
}

// here reports whether a page is open that answers.
func (g *guest) here() bool {
	return slices.ContainsFunc(g.visits, func(v *Visit) bool { return !v.lost })
}

// person is somebody as others see them; not ok when they are not to be seen.
func (g *guest) person() (Person, bool) {
	p := Person{ID: g.id, Name: g.name, Guest: g.byLink, Role: g.role, Hue: g.hue, Since: g.since, Place: g.last, Here: g.here()}
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

func (g *guest) stay() {
	if g.gone != nil {
		g.gone.Stop()
		g.gone = nil
	}
}
