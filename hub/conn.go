package hub

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Audience is what a principal may see. Its Key names it for encode-once and
// render-once; principals who see the same share a key.
type Audience interface {
	Key() string
	Sees(ChannelInfo) bool
	State(ChannelInfo, ahp.State) ahp.State    // the same pointer when nothing is hidden
	Action(ChannelInfo, ahp.Action) ahp.Action // nil: not for this audience
}

// Cutter is an Audience that is told less by a notification than its params say: nil for nothing.
type Cutter interface{ Notification(params any) any }

// everyone is the audience of a connection that names none.
type everyone struct{}

func (everyone) Key() string                                   { return "everyone" }
func (everyone) Sees(ChannelInfo) bool                         { return true }
func (everyone) State(_ ChannelInfo, s ahp.State) ahp.State    { return s }
func (everyone) Action(_ ChannelInfo, a ahp.Action) ahp.Action { return a }

// ConnConfig describes a connection: an AHP socket or the stream of a page.
type ConnConfig struct {
	Principal, ClientID string
	Audience            Audience // default: sees everything
	Resume              bool     // the client reconnects: its sequence numbers go on
	// End is called once, with the reason, when the connection is closed; it must not block, as a CancelCauseFunc does not.
	End context.CancelCauseFunc
}

var (
	// ErrClientTaken refuses a clientId that belongs to another principal.
	ErrClientTaken = errors.New("this clientId belongs to another participant: choose another one, such as a new UUID")
	// ErrReplaced closes a connection when its client opened a newer one.
	ErrReplaced = errors.New("replaced by a newer connection of the same client")
	// ErrSlow closes a connection that does not take its frames: it reconnects and resumes.
	ErrSlow = errors.New("too slow: frames for this connection passed the limit; reconnect to resume")
	// ErrClosed is wrapped by the error of Next once a connection is closed.
	ErrClosed = errors.New("connection closed")
)

// Conn is the hub's side of one connection: what it follows, and the queue of
// what it has not taken yet.
//
// A step of the timeline touches every subscriber's connection, of which the processor has few in its cache: what it
// touches stands first and close together.
type Conn struct {
	mu     sync.Mutex
	closed bool     // err is set
	held   bool     // hold is set
	listed bool     // in Hub.waiting; guarded by Hub.mu
	head   int      // queue[:head] is taken
	queue  []*entry // written with Hub.mu held, so its order is the timeline's
	bytes  int
	tail   int64 // highest journal position that was queued; written with both locks held

	hold  time.Duration // smallest maxLatencyMs of its subscriptions
	first time.Time     // when the oldest entry of the queue came
	err   error

	hub      *Hub
	client   *client
	audience Audience
	wake     chan struct{}
	subs     map[ahp.URI]*subscription // guarded by Hub.mu

	end   context.CancelCauseFunc
	batch []*entry    // what Next took last; only the writer changes it, with mu held
	owns  bool        // batch counts as queued; guarded by mu
	envs  []*Envelope // of batch; nil for an answer
}

type subscription struct {
	latency time.Duration
}

// entry is one thing in a queue: an envelope or an answer. It is shared by all
// queues, because a step of the timeline writes one into that of every subscriber.
type entry struct {
	env    *Envelope
	answer *answer
	pos    int64 // journal position that must be durable first; 0 for none
	size   int   // bytes, as estimated
	frame  int   // bytes of the frame in answer, which have a limit of their own for each connection

	read   bool         // an answer that names no number, and does not wait for a journal that fails
	queues atomic.Int32 // how many queues hold it
}

// Connect registers a connection. A second one of the same client closes the
// first: the newest wins.
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
		cl.fresh(h.seq)
	}
	c := &Conn{hub: h, client: cl, audience: cfg.Audience, end: cfg.End, wake: make(chan struct{}, 1), subs: map[ahp.URI]*subscription{}}
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

// drop takes a connection out of everything; Hub.mu is held.
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

// Put queues any other frame in order: an answer that must not overtake what
// happened before it is durable.
func (c *Conn) Put(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, pos: c.hub.journal.pos, size: answerSize, frame: frameSize(v)})
}

// PutRead is Put for the answer of a read. While the journal fails it leaves all the same: a disk that takes nothing for
// hours is no reason to say nothing.
func (c *Conn) PutRead(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, pos: c.hub.journal.pos, size: answerSize, frame: frameSize(v), read: true})
}

// PutFree queues a frame that depends on nothing in the journal (a pong, an
// error), so that a store that stalls does not hold it back by itself.
func (c *Conn) PutFree(v any) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.push(&entry{answer: &answer{put: v}, size: answerSize, frame: frameSize(v), read: true})
}

// frameSize is what a frame that is encoded already takes.
func frameSize(v any) int {
	b, _ := v.([]byte)
	return len(b)
}
