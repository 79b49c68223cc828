package hub

import (
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Subscription is a request for one channel.
type Subscription struct {
	URI        ahp.URI
	MaxLatency *int64 // how many milliseconds frames may be held back for merging; nil: no preference, 0: no hold
	Turns      *int64 // view.turns of a chat: how many of the newest turns the snapshot shows
}

// Snapshot is a state and its number; the writer encodes it.
type Snapshot struct {
	Info  ChannelInfo // only the URI is set when the channel is unknown
	State ahp.State   // nil when unknown, or not for this audience
	Seq   int64
	Turns *int64
}

// answer is a queued answer: to a subscribe or reconnect, or the argument of Put.
type answer struct {
	put       any
	token     any
	snapshots []Snapshot
	replay    []*Envelope
	isReplay  bool
	missing   []ahp.URI
	seq       int64
}

func (a *answer) item(aud Audience) Item {
	it := Item{Put: a.put, Token: a.token, IsReplay: a.isReplay, Missing: a.missing, Seq: a.seq}
	for _, s := range a.snapshots {
		if s.State != nil {
			s.State = aud.State(s.Info, s.State)
		}
		it.Snapshots = append(it.Snapshots, s)
	}
	for run := a.replay; len(run) > 0; {
		n := 1
		if len(a.replay) >= behind {
			n = span(run)
		}
		for _, e := range mergeSpan(run[:n]) {
			if e = e.For(aud); e != nil {
				it.Replay = append(it.Replay, e)
			}
		}
		run = run[n:]
	}
	return it
}

// Subscribe follows channels and queues their snapshots as one answer, in order: later envelopes on
// the connection have higher numbers (AHP requirement 26). The snapshot of a channel that is
// unknown, asleep or hidden from this audience has a nil State. Subscribing again returns a fresh
// snapshot.
func (c *Conn) Subscribe(token any, subs ...Subscription) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &answer{token: token, seq: h.seq}
	var pos int64
	for _, s := range subs {
		snap, at := c.follow(s)
		pos = max(pos, at)
		a.snapshots = append(a.snapshots, snap)
	}
	c.push(&entry{answer: a, pos: pos, size: answerSize})
}

// follow adds one subscription and takes the snapshot; Hub.mu is held.
func (c *Conn) follow(s Subscription) (Snapshot, int64) {
	ch := c.hub.channels[s.URI]
	if ch == nil || ch.isAsleep() || !c.audience.Sees(ch.info) {
		return Snapshot{Info: ChannelInfo{URI: s.URI}}, 0
	}
	if c.subs[s.URI] == nil {
		ch.subs = append(ch.subs, c)
	}
	c.subs[s.URI] = &subscription{latency: latencyOf(s.MaxLatency)}
	c.setHold()
	return Snapshot{Info: ch.info, State: c.hub.completed(ch), Seq: c.hub.seq, Turns: s.Turns}, ch.pos
}

// completed returns the state of a channel for a snapshot; Hub.mu is held.
func (h *Hub) completed(ch *channel) ahp.State {
	if h.complete == nil {
		return ch.state
	}
	return h.complete(h.begin(), ch.info, ch.state)
}

const (
	unheld  = -1          // the subscription sets no latency
	maxHold = time.Second // the longest delivery hold, whatever maxLatencyMs a client names
)

func latencyOf(ms *int64) time.Duration {
	if ms == nil {
		return unheld
	}
	return time.Duration(max(0, min(*ms, maxHold.Milliseconds()))) * time.Millisecond
}

// setHold recomputes the connection's delivery hold: the smallest that its subscriptions ask for,
// and none if one of them asks for none or sets no latency.
func (c *Conn) setHold() {
	hold := time.Duration(0)
	for _, s := range c.subs {
		if s.latency <= 0 {
			hold = 0
			break
		}
		if hold == 0 || s.latency < hold {
			hold = s.latency
		}
	}
	c.mu.Lock()
	c.hold, c.held = hold, hold > 0
	c.mu.Unlock()
}

// Unsubscribe stops following a channel. It removes the channel's queued envelopes, so that nothing
// arrives afterwards (AHP requirement 30).
func (c *Conn) Unsubscribe(uri ahp.URI) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.subs[uri] == nil {
		return
	}
	delete(c.subs, uri)
	if ch := h.channels[uri]; ch != nil {
		ch.dropSub(c)
	}
	c.setHold()
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.queue[:c.head]
	for _, e := range c.queue[c.head:] {
		if e.env != nil && e.env.Channel.URI == uri && !c.waitsFor(e.env) {
			c.bytes -= e.size
			h.release(e)
			continue
		}
		kept = append(kept, e)
	}
	clear(c.queue[len(kept):])
	c.queue = kept
}

// waitsFor reports whether an envelope is the echo of this client's own action.
func (c *Conn) waitsFor(e *Envelope) bool {
	return e.Origin != nil && e.Origin.ClientID == c.client.key.id && e.Principal == c.client.key.principal
}

// Reconnect follows channels again and queues the replay since lastSeen: every envelope in order
// when all windows reach back that far, else a fresh snapshot of each channel. Channels that cannot
// be resumed are listed in Missing (AHP requirements 41–47).
func (c *Conn) Reconnect(token any, lastSeen int64, uris []ahp.URI) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &answer{token: token, isReplay: true}
	complete := lastSeen <= h.seq && lastSeen >= c.client.floor
	var snaps []Snapshot
	var pos int64
	for _, uri := range uris {
		snap, at := c.follow(Subscription{URI: uri})
		if snap.State == nil {
			a.missing = append(a.missing, uri)
			continue
		}
		pos = max(pos, at)
		snaps = append(snaps, snap)
		if complete {
			missed, ok := h.missed(h.channels[uri], lastSeen)
			complete = ok
			a.replay = append(a.replay, missed...)
		}
	}
	if complete {
		a.replay = c.withOwn(a.replay, lastSeen)
	} else {
		a.isReplay, a.replay, a.snapshots = false, nil, snaps
	}
	a.seq = h.seq
	c.push(&entry{answer: a, pos: pos, size: answerSize})
}

// missed returns a channel's part of a replay. A terminal past its window is resumed by actions
// that rebuild it, so that it never forces snapshots of other channels.
func (h *Hub) missed(ch *channel, lastSeen int64) ([]*Envelope, bool) {
	envs, ok := ch.window.since(lastSeen)
	if ok || ch.info.Kind != ahp.ChannelTerminal {
		return envs, ok
	}
	t, isTerminal := ch.state.(*ahp.TerminalState)
	if !isTerminal {
		return nil, false
	}
	actions := rebuildTerminal(t)
	if !h.reservedFor(len(actions)) {
		return nil, false
	}
	var out []*Envelope
	for _, a := range actions {
		out = append(out, &Envelope{Channel: ch.info, Seq: h.next(), At: h.now(), Action: a})
	}
	return out, true
}

// withOwn adds the answers sent only to this client and sorts by number.
func (c *Conn) withOwn(replay []*Envelope, lastSeen int64) []*Envelope {
	have := make(map[int64]bool, len(replay))
	for _, e := range replay {
		have[e.Seq] = true
	}
	for _, e := range c.client.alone {
		if e.Seq > lastSeen && !have[e.Seq] {
			replay = append(replay, e)
		}
	}
	slices.SortFunc(replay, func(a, b *Envelope) int { return int(a.Seq - b.Seq) })
	return replay
}

// For returns the envelope as an audience may see it: itself when nothing is hidden, nil when all
// of it is. A refusal contains only its sender's words.
func (e *Envelope) For(aud Audience) *Envelope {
	if e.Rejection != "" {
		return e
	}
	a := aud.Action(e.Channel, e.Action)
	if a == nil {
		return nil
	}
	if a == e.Action {
		return e
	}
	return &Envelope{Channel: e.Channel, Seq: e.Seq, Action: a, Origin: e.Origin, Principal: e.Principal,
		Rejection: e.Rejection, At: e.At}
}
