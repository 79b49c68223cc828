package proxy

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/texts"
)

// contacts records what sessions reached and what was denied, up to a limit. It stores the records with the private
// files of the sessions' sandboxes, which programs cannot reach, and which are deleted with the sessions.
type contacts struct {
	log *slog.Logger
	dir string // of the private files; "": nothing is stored

	mu       sync.Mutex
	sessions map[string]*history
	saving   *time.Timer // nil: nothing new

	writing sync.Mutex // held while files are written
}

type history struct {
	last   time.Time
	logged int
	of     map[sandbox.Destination]*sandbox.Contact
	isNew  bool // since the last write
}

const (
	contactsFile = "contacts.json"
	saveTime     = 5 * time.Second // after the first unsaved contact
)

// note records a contact.
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
	h.isNew = true
	if c.saving == nil && c.dir != "" {
		c.saving = time.AfterFunc(saveTime, c.save)
	}
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

// add creates the history of a session, and drops the oldest one if there are too many.
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
	h := &history{of: c.read(session)}
	for _, contact := range h.of {
		if contact.Last.After(h.last) {
			h.last = contact.Last
		}
	}
	c.sessions[session] = h
	return h
}

// pathOf returns the file of a session, or "".
func (c *contacts) pathOf(session string) string {
	if c.dir == "" || !filepath.IsLocal(session) || filepath.Base(session) != session {
		return ""
	}
	return filepath.Join(c.dir, session, contactsFile)
}

// read returns the contacts of a session that an earlier run stored.
func (c *contacts) read(session string) map[sandbox.Destination]*sandbox.Contact {
	of := map[sandbox.Destination]*sandbox.Contact{}
	raw, err := os.ReadFile(c.pathOf(session))
	var list []sandbox.Contact
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("what a sandbox reached before cannot be read", "session", session, "err", err)
	}
	for _, contact := range list[:min(len(list), 2*mostContacts)] {
		of[contact.Destination] = &contact
	}
	return of
}

// save writes changed histories. A session without private files was deleted.
func (c *contacts) save() {
	c.writing.Lock()
	defer c.writing.Unlock()
	lists := map[string][]sandbox.Contact{}
	c.mu.Lock()
	c.saving = nil
	for session, h := range c.sessions {
		if h.isNew && c.pathOf(session) != "" {
			h.isNew = false
			lists[session] = h.list()
		}
	}
	c.mu.Unlock()
	for session, list := range lists {
		path := c.pathOf(session)
		raw, err := json.Marshal(list)
		if err == nil {
			err = os.WriteFile(path+".new", raw, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn("what a sandbox reached is not kept for the next start", "session", session, "err", err)
		}
	}
}

// close saves for the last time.
func (c *contacts) close() {
	c.mu.Lock()
	if c.saving != nil {
		c.saving.Stop()
	}
	c.mu.Unlock()
	c.save()
}

// list returns the contacts, latest first.
func (h *history) list() []sandbox.Contact {
	out := make([]sandbox.Contact, 0, len(h.of))
	for _, c := range h.of {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b sandbox.Contact) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return out
}

// makeRoom drops the oldest contact of a kind if there are too many: denied contacts never displace others.
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
	case len(h.of) >= 2*mostContacts: // contacts that were denied at first, but not later
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

// Contacts returns what a session reached and what was denied, latest first.
func (p *Proxy) Contacts(session string) []sandbox.Contact {
	p.contacts.mu.Lock()
	defer p.contacts.mu.Unlock()
	h := p.contacts.sessions[session]
	if h == nil {
		h = p.contacts.add(session)
	}
	return h.list()
}
