package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BucketSessions holds the catalogue: key session URI, value Entry.
const BucketSessions = "session"

// Entry describes a session without loading it. Entries are immutable; Put replaces them.
type Entry struct {
	Summary   ahp.SessionSummary   `json:"summary"`
	Lifecycle ahp.SessionLifecycle `json:"lifecycle"`
	Trashed   string               `json:"trashed,omitempty"` // when the session was disposed; "" if it was not

	Branch string `json:"branch,omitempty"` // the branch that the first directory last had checked out
	By     string `json:"by,omitempty"`     // name of the person who sent the last message

	Sandbox string `json:"sandbox,omitempty"` // the session's sandbox setting; "" selects the server's
	Notice  string `json:"notice,omitempty"`  // the last notice to the session about the programs in its sandbox

	Waiting bool `json:"waiting,omitempty"` // messages are queued for the agent's offline machine

	Fresh       bool `json:"fresh,omitempty"`       // the session never had lasting content
	Provisional bool `json:"provisional,omitempty"` // the session has no content now
}

// Catalogue holds the entry of every session. It is written under the hub's lock but read without
// it. Its own lock is never held during a call.
type Catalogue struct {
	mu      *sync.RWMutex
	entries map[ahp.URI]*Entry
	shorts  map[string]ahp.URI
}

// NewCatalogue returns an empty Catalogue.
func NewCatalogue() Catalogue {
	return Catalogue{mu: new(sync.RWMutex), entries: map[ahp.URI]*Entry{}, shorts: map[string]ahp.URI{}}
}

// Get returns the entry of a session, or nil.
func (c *Catalogue) Get(uri ahp.URI) *Entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[uri]
}

// Alive returns the entry of a session that is not disposed, or nil.
func (c *Catalogue) Alive(uri ahp.URI) *Entry {
	if e := c.Get(uri); e != nil && e.Trashed == "" {
		return e
	}
	return nil
}

// Put adds or replaces the entry of a session.
func (c *Catalogue) Put(uri ahp.URI, e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[uri] = e
	c.shorts[ShortID(uri)] = uri
}

// Remove deletes the entry of a session.
func (c *Catalogue) Remove(uri ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, uri)
	delete(c.shorts, ShortID(uri))
}

// Waiting returns the sessions whose messages are queued for an offline machine.
func (c *Catalogue) Waiting() (list []*Entry) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.entries {
		if e.Waiting && e.Trashed == "" {
			list = append(list, e)
		}
	}
	return list
}

// List returns the live sessions, or the disposed ones, last modified first. Sessions with equal
// times are ordered by URI, so that pages of the list neither repeat nor miss one (AHP requirement
// 52).
func (c *Catalogue) List(trashed bool) []*Entry {
	c.mu.RLock()
	list := make([]*Entry, 0, len(c.entries))
	for _, e := range c.entries {
		if (e.Trashed != "") == trashed {
			list = append(list, e)
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(list, newestFirst)
	return list
}

func newestFirst(a, b *Entry) int {
	return cmp.Or(-cmp.Compare(a.Summary.ModifiedAt, b.Summary.ModifiedAt), cmp.Compare(a.Summary.Resource,
		b.Summary.Resource))
}

// Count returns the number of live or of disposed sessions.
func (c *Catalogue) Count(trashed bool) (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.entries {
		if (e.Trashed != "") == trashed {
			n++
		}
	}
	return n
}

// OldestTrash returns the session that was disposed first, or "".
func (c *Catalogue) OldestTrash() (uri ahp.URI) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	at := ""
	for u, e := range c.entries {
		if e.Trashed != "" && (at == "" || e.Trashed < at) {
			uri, at = u, e.Trashed
		}
	}
	return uri
}

// Save puts an entry into the catalogue and records it in the step.
func (c *Core) Save(tx *hub.Tx, e *Entry) {
	raw, err := json.Marshal(e)
	if err != nil {
		c.Log.Error("a session's summary cannot be written", "session", e.Summary.Resource, "err", err)
		return
	}
	c.Catalogue.Put(e.Summary.Resource, e)
	tx.Record(BucketSessions, e.Summary.Resource, raw)
}

// SessionByShort returns the session of a ShortID unless it is disposed.
func (c *Core) SessionByShort(short string) (ahp.URI, bool) {
	list := &c.Catalogue
	list.mu.RLock()
	uri, ok := list.shorts[short]
	list.mu.RUnlock()
	if !ok || list.Alive(uri) == nil {
		return "", false
	}
	return uri, true
}

// LocalDirs returns the local working directories of a session and its chats, or none if it is
// disposed.
func (c *Core) LocalDirs(session ahp.URI) []string {
	if e := c.Catalogue.Alive(session); e != nil {
		return LocalPaths(e.Summary.WorkingDirectories)
	}
	return nil
}
