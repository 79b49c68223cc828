package hub

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Audience is what a principal may see. Its Key identifies it, so that envelopes are encoded and
// pages rendered once per audience; principals who see the same share a key.
type Audience interface {
	Key() string
	Sees(ChannelInfo) bool
	State(ChannelInfo, ahp.State) ahp.State    // the same pointer when nothing is hidden
	Action(ChannelInfo, ahp.Action) ahp.Action // nil: not for this audience
}

// Cutter is an Audience that sees only a part of some notifications; nil drops the notification.
type Cutter interface{ Notification(params any) any }

// everyone is the default audience.
type everyone struct{}

func (everyone) Key() string                                   { return "everyone" }
func (everyone) Sees(ChannelInfo) bool                         { return true }
func (everyone) State(_ ChannelInfo, s ahp.State) ahp.State    { return s }
func (everyone) Action(_ ChannelInfo, a ahp.Action) ahp.Action { return a }

// ConnConfig describes a connection: an AHP socket or the stream of a page.
type ConnConfig struct {
	Principal, ClientID string
	Audience            Audience // default: sees everything
	Resume              bool     // the client reconnects: its sequence numbers continue
	// End is called once, with the reason, when the connection is closed; it must not block, as a
	// CancelCauseFunc does not.
	End context.CancelCauseFunc
	// Closed is called when a channel that the connection follows is closed, in that step; it must
	// not block.
	Closed func(ChannelInfo)
}

var (
	// ErrClientTaken refuses a clientId that belongs to another principal.
	ErrClientTaken = errors.New("this clientId belongs to another participant. Choose another one, such as a new UUID")
	// ErrReplaced closes a connection when its client opened a newer one.
	ErrReplaced = errors.New("replaced by a newer connection of the same client")
	// ErrSlow closes a connection that does not read its frames fast enough; it can reconnect and
	// resume.
	ErrSlow = errors.New("this connection reads too slowly and too much is queued for it. Reconnect to resume")
	// ErrClosed is wrapped by the error of Next once a connection is closed.
	ErrClosed = errors.New("connection closed")
)

// Conn is the hub's side of one connection: its subscriptions and its queue.
//
// A step of the timeline touches the connection of every subscriber, and few of those are in the
// processor's cache. The fields that a step touches therefore come first and close together.
type Conn struct {
	mu     sync.Mutex
	closed bool     // err is set
	held   bool     // hold is set
	listed bool     // in Hub.waiting; guarded by Hub.mu
	head   int      // queue[:head] has been taken
	queue  []*entry // written with Hub.mu held, so its order is the timeline's
	bytes  int
	tail   int64 // highest queued journal position; written with both locks held

	hold  time.Duration // smallest maxLatencyMs of its subscriptions
	first time.Time     // arrival of the queue's oldest entry
	err   error

	hub      *Hub
	client   *client
	audience Audience
	wake     chan struct{}
	subs     map[ahp.URI]*subscription // guarded by Hub.mu

	end      context.CancelCauseFunc
	onClosed func(ChannelInfo)

	batch []*entry    // entries of the last Next; only the writer changes it, with mu held
	owns  bool        // batch counts as queued; guarded by mu
	envs  []*Envelope // of batch; nil for an answer
}

type subscription struct {
	latency time.Duration
}

// entry is one element of a queue: an envelope or an answer. All queues share it, because a step of
// the timeline writes the same entry into the queue of every subscriber.
type entry struct {
	env    *Envelope
	answer *answer
	pos    int64 // journal position that must be durable first; 0 for none
	size   int   // bytes, as estimated
	frame  int   // size of answer's frame, which has a separate limit for each connection

	read   bool         // the answer carries no number, and does not wait for a failing journal
	queues atomic.Int32 // number of queues that hold it
}

// Connect registers a connection. A second connection of the same client closes the first: the
// newest wins.
func (h *Hub) Connect(cfg ConnConfig) (*Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, held := h.holder(cfg.ClientID); held && p != cfg.Principal {
		return nil, ErrClientTaken
	}
	cl := h.client(clientKey{cfg.Principal, cfg.ClientID})
	if cl.conn != nil {
		h.drop(cl.conn, ErrReplaced)
	}
	if !cfg.Resume {
		cl.reset(h.seq)
	}
	c := &Conn{hub: h, client: cl, audience: cfg.Audience, end: cfg.End, onClosed: cfg.Closed, wake: make(chan struct{}, 1),
		subs: map[ahp.URI]*subscription{}}
	if c.audience == nil {
		c.audience = everyone{}
	}
	cl.conn, cl.seen = c, h.now()
	h.conns[c] = struct{}{}
	return c, nil
}

// Close ends the connection; Next returns reason from then on.
func (c *Conn) Close(reason error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hub.drop(c, reason)
}

// drop removes a connection from all channels; Hub.mu is held.
func (h *Hub) drop(c *Conn, reason error) {
	if _, ok := h.conns[c]; !ok {
		return
	}
	delete(h.conns, c)
	for uri := range c.subs {
		if ch := h.channels[uri]; ch != nil {
			ch.dropSub(c)
		}
	}
	clear(c.subs)
	if c.client.conn == c {
		c.client.conn, c.client.seen = nil, h.now()
	}
	c.mu.Lock()
	c.fail(reason)
	c.mu.Unlock()
	signal(c.wake)
}

// Subscribed lists the channels the connection follows.
func (c *Conn) Subscribed() []ahp.URI {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	uris := make([]ahp.URI, 0, len(c.subs))
	for uri := range c.subs {
		uris = append(uris, uri)
	}
	return uris
}

// Put queues a frame in order, for answers that must not overtake what happened before them. It
// waits until that is durable.
func (c *Conn) Put(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, pos: c.hub.journal.pos, size: answerSize, frame: frameSize(v)})
}

// PutRead queues the answer of a read like Put. It is sent even while the journal fails: a full disk
// should not block reads for hours.
func (c *Conn) PutRead(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, pos: c.hub.journal.pos, size: answerSize, frame: frameSize(v), read: true})
}

// PutFree queues a frame that does not depend on the journal (a pong, an error), so that a stalled
// store does not delay it.
func (c *Conn) PutFree(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, size: answerSize, frame: frameSize(v), read: true})
}

// frameSize returns the size of a frame that is already encoded.
func frameSize(v any) int {
	b, _ := v.([]byte)
	return len(b)
}
