package hub

import (
	"cmp"
	"slices"
)

// Queues share entries, so their total is counted by entry: from the first queue that takes an
// entry in until the last one releases it. The batch of each writer counts too.

// hold counts an entry of a queue.
func (h *Hub) hold(e *entry) {
	if e.queues.Add(1) == 1 {
		h.queued.Add(int64(e.size + e.frame))
	}
}

// release stops counting an entry of a queue.
func (h *Hub) release(e *entry) {
	if e.queues.Add(-1) == 0 {
		h.queued.Add(-int64(e.size + e.frame))
	}
}

// releaseBatch stops counting the writer's last batch; c.mu is held.
func (c *Conn) releaseBatch() {
	if !c.owns {
		return
	}
	c.owns = false
	for _, e := range c.batch {
		c.hub.release(e)
	}
}

// relieve closes slow connections when queues hold too much; Hub.mu is held.
func (h *Hub) relieve() {
	switch queued := h.queued.Load(); {
	case queued > h.queuedLimit:
		h.closeSlowest()
	case queued < int64(h.limits.QueuedBytes)/2:
		h.queuedLimit = int64(h.limits.QueuedBytes)
	}
}

// closeSlowest closes the connections furthest behind until a quarter of the limit is free. They
// resume when they reconnect, while a process out of memory serves no one. Hub.mu is held.
//
// When no connection is far behind this frees little, so the next attempt waits until more has been
// queued.
func (h *Hub) closeSlowest() {
	type behind struct {
		c     *Conn
		bytes int
	}
	var list []behind
	for c := range h.conns {
		if n := c.behindBy(); n >= bigBatch/8 {
			list = append(list, behind{c, n})
		}
	}
	slices.SortFunc(list, func(a, b behind) int { return cmp.Compare(b.bytes, a.bytes) })
	limit := int64(h.limits.QueuedBytes)
	for _, b := range list {
		if h.queued.Load() <= limit-limit/4 {
			break
		}
		b.c.mu.Lock()
		b.c.fail(ErrSlow)
		b.c.mu.Unlock()
		signal(b.c.wake)
	}
	h.queuedLimit = max(limit, h.queued.Load()+limit/16)
}

// behindBy returns the bytes the connection has not written, including its writer's batch.
func (c *Conn) behindBy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	if c.owns {
		for _, e := range c.batch {
			n += e.size + e.frame
		}
	}
	for _, e := range c.queue[c.head:] {
		n += e.size + e.frame
	}
	return n
}
