package hub

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Tx is one step of the timeline, valid only inside the function it is passed to. Nothing in it may
// block: the hub's lock is held.
type Tx struct {
	h     *Hub
	depth int // nesting of Derive calls
}

// maxDerive bounds nested aggregation: a chat's action changes its session, a session's the root.
// Anything deeper is a loop.
const maxDerive = 8

// Do runs f as one step: readers see all of it or none.
func (h *Hub) Do(f func(*Tx)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.readOnly(); err != nil {
		return err
	}
	f(h.begin())
	return nil
}

// begin starts a step; Hub.mu is held.
func (h *Hub) begin() *Tx {
	h.tx = Tx{h: h}
	return &h.tx
}

// State returns a channel's state, or nil when it is unknown or asleep.
func (tx *Tx) State(uri ahp.URI) ahp.State {
	if ch := tx.h.channels[uri]; ch != nil {
		return ch.state
	}
	return nil
}

// Info describes a channel, asleep or not.
func (tx *Tx) Info(uri ahp.URI) (ChannelInfo, bool) {
	if ch := tx.h.channels[uri]; ch != nil {
		return ch.info, true
	}
	return ChannelInfo{}, false
}

// Apply reduces an action of the host into its channel and sends it to every subscriber. It returns
// nil when the channel is unknown or asleep or the action changes nothing.
func (tx *Tx) Apply(uri ahp.URI, a ahp.Action) *Envelope {
	ch := tx.h.channels[uri]
	if ch == nil || ch.isAsleep() {
		return nil
	}
	next := ahp.Reduce(ch.state, a)
	if next == ch.state && !isEvent(a) {
		return nil
	}
	return tx.commit(ch, next, &Envelope{Action: a}, nil)
}

// isEvent reports whether an action is sent to subscribers although it changes no state (DESIGN
// promise 6: resource watches, terminal data).
func isEvent(a ahp.Action) bool {
	info, ok := ahp.Info(a.ActionType())
	return ok && info.Event
}

// commit numbers an accepted envelope, keeps it for replay, and queues it for every subscriber, and
// for its sender if that one does not follow the channel.
func (tx *Tx) commit(ch *channel, next ahp.State, e *Envelope, sender *Conn) *Envelope {
	h := tx.h
	e.Channel, e.Seq, e.At = ch.info, h.next(), h.now()
	e.estimate = estimateSize(e.Action)
	ch.state, ch.last = next, e.Seq
	ch.window.add(e, h.limits.WindowBytes)
	var pos int64
	if isJournaled(e.Action) {
		pos = h.add(Write{Env: e}, e.estimate)
		ch.pos = pos
	}
	queued := e.enter(pos)
	for _, c := range ch.subs {
		h.push(c, queued)
	}
	if sender != nil {
		h.push(sender, queued)
	}
	if h.derive != nil && tx.depth < maxDerive {
		tx.depth++
		h.derive(tx, e)
		tx.depth--
	}
	return e
}

// Open creates a channel with its first state.
func (tx *Tx) Open(info ChannelInfo, s ahp.State) error {
	h := tx.h
	if h.channels[info.URI] != nil {
		return fmt.Errorf("%s: %w", info.URI, ErrChannelExists)
	}
	if s == nil {
		return fmt.Errorf("%s: a channel needs a first state", info.URI)
	}
	ch := &channel{info: info, state: s, last: h.seq, touched: h.now()}
	ch.window.floor = h.seq
	ch.pos = h.add(Write{Open: &OpenWrite{Info: info, State: s, Seq: h.seq}}, 1024)
	h.channels[info.URI] = ch
	return nil
}

// Close removes a channel; nothing is sent on it afterwards.
func (tx *Tx) Close(uri ahp.URI) {
	h := tx.h
	ch := h.channels[uri]
	if ch == nil {
		return
	}
	for _, c := range ch.subs {
		delete(c.subs, uri)
		if c.onClosed != nil {
			c.onClosed(ch.info)
		}
	}
	delete(h.channels, uri)
	h.add(Write{Close: uri}, 256)
}

// Notification is a protocol notification. It is never replayed, and only subscribers of its
// channel get it (AHP requirements 29 and 45).
type Notification struct {
	Channel ahp.URI
	Method  string
	Params  any

	once Envelope // its encode-once cache
}

// Bytes returns an encoding of the notification, as Envelope.Bytes does.
func (n *Notification) Bytes(key string, encode func(*Notification) []byte) []byte {
	return n.once.Bytes(key, func(*Envelope) []byte { return encode(n) })
}

// Notify sends a notification about one channel to the subscribers of another one (mostly root)
// that may see the first.
func (tx *Tx) Notify(about ChannelInfo, channel ahp.URI, method string, params any) {
	ch := tx.h.channels[channel]
	if ch == nil {
		return
	}
	n := &answer{put: &Notification{Channel: channel, Method: method, Params: params}}
	for _, c := range ch.subs {
		if !c.audience.Sees(about) {
			continue
		}
		sent := n
		if cut, ok := c.audience.(Cutter); ok {
			less := cut.Notification(params)
			if less == nil {
				continue
			}
			sent = &answer{put: &Notification{Channel: channel, Method: method, Params: less}}
		}
		c.push(&entry{answer: sent, pos: tx.h.journal.pos, size: answerSize})
	}
}

// Record writes host state in order with the envelopes; a nil value deletes it.
func (tx *Tx) Record(bucket, key string, value []byte) {
	tx.h.add(Write{Record: &Record{Bucket: bucket, Key: key, At: tx.h.now(), Value: value}}, len(value)+len(key)+64)
}

// RecordLater records a value that is expensive to encode: encode is called once, without the
// lock, when the value is written. The value must not change until then; size estimates the length
// of its encoding.
func (tx *Tx) RecordLater(bucket, key string, size int, encode func() ([]byte, error)) {
	tx.h.add(Write{Record: &Record{Bucket: bucket, Key: key, At: tx.h.now(), Encode: encode}}, size+len(key)+64)
}

// Prune has the store delete expired clients and answers.
func (tx *Tx) Prune() { tx.h.add(Write{Prune: tx.h.now()}, 64) }

// Effect queues run, to be called outside the lock once all changes so far are durable; effects of
// one key run in order.
func (tx *Tx) Effect(key string, run func(context.Context)) {
	tx.h.effects.add(Effect{Key: key, Run: run, pos: tx.h.journal.pos})
}
