package host

import (
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// bucketTrash holds the trash: key session URI, value trashed.
const bucketTrash = "trash"

// trashCan holds disposed sessions until the store has them; without a store, permanently.
type trashCan struct {
	mu   sync.Mutex
	kept map[ahp.URI][]byte
}

func (t *trashCan) put(uri ahp.URI, raw []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[ahp.URI][]byte{}
	}
	t.kept[uri] = raw
}

func (t *trashCan) get(uri ahp.URI) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw, ok := t.kept[uri]
	return raw, ok
}

func (t *trashCan) drop(uri ahp.URI) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, uri)
}

// claims marks sessions that are being disposed. Only one caller at a time may dispose a session,
// and it starts no queued messages meanwhile.
type claims struct {
	mu  sync.Mutex
	set map[ahp.URI]bool
}

func (c *claims) claim(uri ahp.URI) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set[uri] {
		return false
	}
	if c.set == nil {
		c.set = map[ahp.URI]bool{}
	}
	c.set[uri] = true
	return true
}

func (c *claims) release(uri ahp.URI) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.set, uri)
}

func (c *claims) held(uri ahp.URI) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set[uri]
}
