package hub

import (
	"context"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// answerSize is the estimated size of a queued answer: the writer encodes it, from states that are
// shared anyway.
const answerSize = 1024

// push appends to the queue; Hub.mu is held, so the order is the timeline's. A connection past its
// limit is closed at its next step; its frames are never dropped silently.
func (c *Conn) push(e *entry) { c.hub.push(c, e) }

func (h *Hub) push(c *Conn, e *entry) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	if c.held && c.head == len(c.queue) {
		c.first = h.now()
	}
	c.queue = append(c.queue, e)
	h.hold(e)
	c.bytes += e.size
	c.tail = max(c.tail, e.pos)
	slow := c.bytes > h.limits.QueueBytes
	if slow {
		c.fail(ErrSlow)
	}
	c.mu.Unlock()
	h.relieve()
	if slow || e.pos <= h.durable.Load() || e.read && h.failing.Load() {
		signal(c.wake)
	} else if !c.listed {
		c.listed = true
		h.waiting = append(h.waiting, c)
	}
}

// fail ends the queue; c.mu is held.
func (c *Conn) fail(reason error) {
	if c.closed {
		return
	}
	c.err, c.closed = fmt.Errorf("%w: %w", ErrClosed, reason), true
	for _, e := range c.queue[c.head:] {
		c.hub.release(e)
	}
	c.releaseBatch()
	c.queue, c.head, c.bytes = nil, 0, 0
	if c.end != nil {
		c.end(reason)
	}
}

// Next blocks until something may be sent, and appends it to buf in order: durable entries only,
// adjacent envelopes merged where that saves frames. The connection's writer is its only caller.
func (c *Conn) Next(ctx context.Context, buf []Item) ([]Item, error) {
	for {
		wait, err := c.take()
		if err != nil {
			return buf, err
		}
		if len(c.batch) > 0 {
			if buf = c.items(buf); len(buf) > 0 {
				return buf, nil
			}
			continue // none of it was for this audience
		}
		if err := c.sleep(ctx, wait); err != nil {
			return buf, err
		}
	}
}

// sleep waits for a signal, or for the end of a delivery hold.
func (c *Conn) sleep(ctx context.Context, hold time.Duration) error {
	var due <-chan time.Time
	if hold > 0 {
		t := time.NewTimer(hold)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-c.wake:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

const (
	maxBatch = 1024    // most entries of one Next, so that a long queue is sent in pieces
	bigBatch = 1 << 20 // bytes that end a Next: a stalled connection holds them until it closes
	keepCap  = 4096    // entries of capacity an empty queue may keep
)

// take moves what may be sent now into the writer's batch, or returns the rest of a delivery hold.
// A hold delays only what may merge with what follows: no answer, and not the end of a turn.
func (c *Conn) take() (wait time.Duration, err error) {
	durable := c.hub.durable.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseBatch()
	clear(c.batch)
	c.batch = c.batch[:0]
	if c.closed {
		return 0, c.err
	}
	c.owns = true
	if !c.held && c.head == 0 && c.bytes <= bigBatch && len(c.queue) <= maxBatch && cap(c.queue) <= keepCap &&
		c.tail <= durable {
		c.queue, c.batch, c.bytes = c.batch, c.queue, 0 // all of it: nothing to examine or copy
		return 0, nil
	}
	end, urgent, bytes := c.head, false, 0
	for end < len(c.queue) && end-c.head < maxBatch && bytes < bigBatch && c.queue[end].pos <= durable {
		urgent = urgent || c.held && !c.queue[end].env.mayWait()
		bytes += c.queue[end].size
		end++
	}
	if end == c.head {
		if c.hub.failing.Load() {
			c.takeReads()
		}
		return 0, nil
	}
	if c.held && !urgent {
		if left := c.hold - c.hub.now().Sub(c.first); left > 0 {
			return left, nil
		}
	}
	c.batch = append(c.batch, c.queue[c.head:end]...)
	clear(c.queue[c.head:end])
	c.head, c.bytes = end, c.bytes-bytes
	c.compact()
	return 0, nil
}

// takeReads moves answers of reads past entries that wait for the journal. They carry no number of
// the timeline, so the client's order is unaffected.
func (c *Conn) takeReads() {
	kept := c.queue[:c.head]
	for _, e := range c.queue[c.head:] {
		if !e.read {
			kept = append(kept, e)
			continue
		}
		c.batch = append(c.batch, e)
		c.bytes -= e.size
	}
	clear(c.queue[len(kept):])
	c.queue = kept
}

// compact frees the space of taken entries.
func (c *Conn) compact() {
	switch {
	case c.head == len(c.queue) && cap(c.queue) > keepCap:
		c.queue, c.head = nil, 0
	case c.head == len(c.queue):
		c.queue, c.head = c.queue[:0], 0
	case c.head > len(c.queue)/2:
		n := copy(c.queue, c.queue[c.head:])
		clear(c.queue[n:])
		c.queue, c.head = c.queue[:n], 0
	}
	if c.held && c.head < len(c.queue) {
		c.first = c.hub.now()
	}
}

// Item is one thing to write: an envelope, an answer to a subscribe or reconnect (Token is set), or
// the argument of Put.
type Item struct {
	Env       *Envelope
	Token     any
	Snapshots []Snapshot
	Replay    []*Envelope
	IsReplay  bool
	Missing   []ahp.URI
	Seq       int64 // the timeline's number when the answer was queued
	Put       any
}

// items converts the batch to Items: projected for the audience, and merged when the connection
// asked for a hold or is behind.
func (c *Conn) items(buf []Item) []Item {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	merge := held || len(c.batch) >= behind
	c.envs = c.envs[:0]
	for i := range c.batch {
		c.envs = append(c.envs, c.batch[i].env)
	}
	for i := 0; i < len(c.batch); {
		n := 1
		switch e := c.batch[i]; {
		case e.env == nil:
			buf = append(buf, e.answer.item(c.audience))
		case merge:
			n = span(c.envs[i:])
			for _, m := range mergeSpan(c.envs[i : i+n]) {
				buf = c.appendEnv(buf, m, held)
			}
		default:
			buf = c.appendEnv(buf, e.env, false)
		}
		i += n
	}
	clear(c.envs)
	return buf
}

// appendEnv projects one envelope; join also merges it with the one before.
func (c *Conn) appendEnv(buf []Item, e *Envelope, join bool) []Item {
	if e = e.For(c.audience); e == nil {
		return buf
	}
	if n := len(buf) - 1; join && n >= 0 && buf[n].Env != nil {
		if m := mergeEnvelopes(buf[n].Env, e); m != nil {
			buf[n].Env = m
			return buf
		}
	}
	return append(buf, Item{Env: e})
}
