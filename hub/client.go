package hub

import (
	"hash/maphash"
	"regexp"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// clientKey identifies a client. It includes the principal, so that no principal can use another's
// clientId.
type clientKey struct{ principal, id string }

// client is the hub's memory of one client across its connections; guarded by Hub.mu.
type client struct {
	key     clientKey
	conn    *Conn // the newest; nil while disconnected
	seen    time.Time
	answers map[int64]answered // by clientSeq
	order   []int64            // clientSeqs, oldest first
	alone   []*Envelope        // answers sent to this client only, for its replay
	floor   int64              // everything up to here is no longer in alone
}

// client returns the record of a client, creating it if needed. When there are too many records it
// forgets the client disconnected the longest.
func (h *Hub) client(key clientKey) *client {
	if c := h.clients[key]; c != nil {
		return c
	}
	if len(h.clients) >= h.limits.Clients {
		h.forgetClient()
	}
	c := &client{key: key, answers: map[int64]answered{}, seen: h.now(), floor: h.forgot}
	h.clients[key] = c
	return c
}

func (h *Hub) forgetClient() {
	var oldest *client
	for _, c := range h.clients {
		if c.conn == nil && (oldest == nil || c.seen.Before(oldest.seen)) {
			oldest = c
		}
	}
	if oldest != nil {
		delete(h.clients, oldest.key)
		h.forgot = h.seq
	}
}

// holder returns the principal that a clientId belongs to.
func (h *Hub) holder(id string) (principal string, held bool) {
	for key, c := range h.clients {
		if key.id == id && c.conn != nil {
			return key.principal, true
		}
	}
	return "", false
}

// IsConnected reports whether a client has a connection.
func (h *Hub) IsConnected(clientID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, here := h.holder(clientID)
	return here
}

// answered is the answer to an action of a client.
type answered struct {
	seq   int64  // its serverSeq
	print uint64 // hash of the action; 0 when unknown
}

// isTo reports whether this was the answer to the action with this hash. Some clients restart their
// sequence numbers when they reconnect.
func (a answered) isTo(print uint64) bool { return a.print == print || a.print == 0 }

var (
	printSeed = maphash.MakeSeed()
	// times are fields that the host fills in when a client's protocol version omits them.
	times = regexp.MustCompile(`"(startedAt|duration)":("[^"]*"|[0-9.e+]+),?`)
)

// printOf hashes an action, to distinguish actions with the same number.
func printOf(a ahp.Action) uint64 {
	b, err := ahp.Marshal(a)
	if err != nil {
		return 0
	}
	return maphash.Bytes(printSeed, times.ReplaceAll(b, nil)) | 1
}

func (c *client) remember(clientSeq int64, a answered, limit int) {
	if _, known := c.answers[clientSeq]; !known {
		c.order = append(c.order, clientSeq)
	}
	c.answers[clientSeq] = a
	if len(c.order) > limit {
		delete(c.answers, c.order[0])
		c.order = c.order[1:]
	}
}

// keep holds an answer for the client's replay. Terminal input is answered but not kept: it may be
// a password, and its echo changes nothing.
func (c *client) keep(e *Envelope, limit int) {
	if !isJournaled(e.Action) {
		return
	}
	c.alone = append(c.alone, e)
	if over := len(c.alone) - limit; over > 0 {
		c.floor = c.alone[over-1].Seq
		c.alone = append([]*Envelope(nil), c.alone[over:]...)
	}
}

func (c *client) findKept(seq int64) *Envelope {
	for _, e := range c.alone {
		if e.Seq == seq {
			return e
		}
	}
	return nil
}

// reset forgets the sequence numbers of the client's previous connection. A client that initializes
// instead of reconnecting counts from the beginning again.
func (c *client) reset(floor int64) {
	c.answers, c.order, c.alone, c.floor = map[int64]answered{}, nil, nil, floor
}
