package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Buckets of the host's records.
const (
	bucketSessions = "session" // key: session URI, value: entry
	bucketTrash    = "trash"   // key: session URI, value: trashed
)

// entry is what the host knows of a session without loading it. It never changes; a
// newer one takes its place.
type entry struct {
	Summary   ahp.SessionSummary   `json:"summary"`
	Lifecycle ahp.SessionLifecycle `json:"lifecycle"`
	Trashed   string               `json:"trashed,omitempty"` // when it was disposed; "" while it lives

	Fresh       bool `json:"fresh,omitempty"`       // nothing was ever in it that counts for good
	Provisional bool `json:"provisional,omitempty"` // nothing is in it now
}

// catalogue holds every session's entry. It is written under the hub's lock and read
// without it, so its own lock is never held over a call.
type catalogue struct {
	mu      *sync.RWMutex
	entries map[ahp.URI]*entry
	shorts  map[string]ahp.URI
}

func newCatalogue() catalogue {
	return catalogue{mu: new(sync.RWMutex), entries: map[ahp.URI]*entry{}, shorts: map[string]ahp.URI{}}
}

func (c *catalogue) get(uri ahp.URI) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[uri]
}

// alive is get without disposed sessions.
func (c *catalogue) alive(uri ahp.URI) *entry {
	if e := c.get(uri); e != nil && e.Trashed == "" {
		return e
	}
	return nil
}

func (c *catalogue) put(uri ahp.URI, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[uri] = e
	c.shorts[ShortID(uri)] = uri
}

func (c *catalogue) remove(uri ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, uri)
	delete(c.shorts, ShortID(uri))
}

// list returns entries, newest modified first; order between equals is by URI, so that
// pages of the list neither repeat nor miss one (AHP requirement 52).
func (c *catalogue) list(trashed bool) []*entry {
	c.mu.RLock()
	list := make([]*entry, 0, len(c.entries))
	for _, e := range c.entries {
		if (e.Trashed != "") == trashed {
			list = append(list, e)
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(list, newestFirst)
	return list
}

func newestFirst(a, b *entry) int {
	return cmp.Or(-cmp.Compare(a.Summary.ModifiedAt, b.Summary.ModifiedAt), cmp.Compare(a.Summary.Resource, b.Summary.Resource))
}

func (c *catalogue) count(trashed bool) (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.entries {
		if (e.Trashed != "") == trashed {
			n++
		}
	}
	return n
}

// oldestTrash is the session that was disposed longest ago, "" without any.
func (c *catalogue) oldestTrash() (uri ahp.URI) {
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

// save writes an entry down in order with the envelopes.
func (h *Host) save(tx *hub.Tx, e *entry) {
	raw, err := json.Marshal(e)
	if err != nil {
		h.log.Error("a session's summary cannot be written", "session", e.Summary.Resource, "err", err)
		return
	}
	h.catalogue.put(e.Summary.Resource, e)
	tx.Record(bucketSessions, e.Summary.Resource, raw)
}

// ShortID names a session in addresses of pages, changesets and blobs, whatever the form
// of the URI its client chose: 12 hex digits.
func ShortID(session ahp.URI) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:6])
}

// SessionByShort finds the session of a ShortID; disposed ones are not found.
func (h *Host) SessionByShort(short string) (ahp.URI, bool) {
	h.catalogue.mu.RLock()
	uri, ok := h.catalogue.shorts[short]
	h.catalogue.mu.RUnlock()
	if !ok || h.catalogue.alive(uri) == nil {
		return "", false
	}
	return uri, true
}
