package proxy

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/texts"
)

// contacts remembers what sessions reached and what was refused, a bounded number of each.
type contacts struct {
	log *slog.Logger

	mu       sync.Mutex
	sessions map[string]*history
}

type history struct {
	last   time.Time
	logged int
	of     map[sandbox.Destination]*sandbox.Contact
}

// note counts a contact in.
func (c *contacts) note(session string, got sandbox.Contact) {
	got.Reason = texts.CutBytes(got.Reason, longestReason)
	now := time.Now()
	c.mu.Lock()
	h := c.sessions[session]
	if h == nil {
		h = c.add(session)
	}
	h.last = now
	before := h.of[got.Destination]
	isNew := before == nil || before.Reason != got.Reason
	if before == nil {
		h.makeRoom(got.Reason != "")
		before = &sandbox.Contact{}
	}
	got.Last, got.Times = now, before.Times+1
	h.of[got.Destination] = &got
	if isNew {
		h.logged++
	}
	logs := isNew && h.logged <= mostLogged
	c.mu.Unlock()
	switch {
	case !logs:
	case got.Reason == "":
		c.log.Info("a sandbox reached a host", "session", session, "host", got.String())
	default:
		c.log.Warn("a sandbox did not reach a host", "session", session, "host", got.String(), "reason", got.Reason)
	}
}

// add begins the history of a session, and forgets the oldest one when there are too many.
func (c *contacts) add(session string) *history {
	if c.sessions == nil {
		c.sessions = map[string]*history{}
	}
	if len(c.sessions) >= mostSessions {
		oldest := ""
		for name, h := range c.sessions {
			if oldest == "" || h.last.Before(c.sessions[oldest].last) {
				oldest = name
			}
		}
		delete(c.sessions, oldest)
	}
	h := &history{of: map[sandbox.Destination]*sandbox.Contact{}}
	c.sessions[session] = h
	return h
}

// makeRoom forgets the oldest contact of a kind when there are too many: what is refused takes no place of what is not.
func (h *history) makeRoom(refused bool) {
	var oldest *sandbox.Contact
	n := 0
	for _, c := range h.of {
		if (c.Reason != "") == refused {
			if n++; oldest == nil || c.Last.Before(oldest.Last) {
				oldest = c
			}
		}
	}
	switch {
	case n >= mostContacts:
	case len(h.of) >= 2*mostContacts: // those that were refused at first, and then not
		for _, c := range h.of {
			if oldest == nil || c.Last.Before(oldest.Last) {
				oldest = c
			}
		}
	default:
		return
	}
	delete(h.of, oldest.Destination)
}

// Contacts returns what a session reached and what was refused, the latest first.
func (p *Proxy) Contacts(session string) []sandbox.Contact {
	p.contacts.mu.Lock()
	defer p.contacts.mu.Unlock()
	h := p.contacts.sessions[session]
	if h == nil {
		return nil
	}
	out := make([]sandbox.Contact, 0, len(h.of))
	for _, c := range h.of {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b sandbox.Contact) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return out
}
