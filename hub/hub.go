package hub

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Config configures a hub; its zero value is a hub in memory with the stated defaults.
type Config struct {
	Now     func() time.Time // default time.Now
	Limits  Limits
	Journal bool                 // false: nothing is stored, and every change counts as durable immediately
	Quorum  func() error         // fails once another host may lead; if set, only durable changes are shown
	Derive  func(*Tx, *Envelope) // the host's aggregation, under the lock after each accepted envelope; no I/O
	Boot    Boot
}

// Limits bounds the hub's memory; zero fields take the default.
type Limits struct {
	WindowBytes      int // replay kept for each channel: 4 MiB, over 15,000 deltas
	QueueBytes       int // waiting for one connection before it is closed: 16 MiB
	QueuedBytes      int // waiting for all connections before the slowest are closed: 512 MiB
	UnjournaledBytes int // accepted and not yet on disk before the host turns read-only: 64 MiB
	Refusals         int // envelopes kept for a single client: 256
	Answers          int // client sequence numbers remembered for one client: 1024
	Clients          int // clients remembered: 4096
}

func (l Limits) withDefaults() Limits {
	l.WindowBytes = cmp.Or(l.WindowBytes, 4<<20)
	l.QueueBytes = cmp.Or(l.QueueBytes, 16<<20)
	l.QueuedBytes = cmp.Or(l.QueuedBytes, 512<<20)
	l.UnjournaledBytes = cmp.Or(l.UnjournaledBytes, 64<<20)
	l.Refusals = cmp.Or(l.Refusals, 256)
	l.Answers = cmp.Or(l.Answers, 1024)
	l.Clients = cmp.Or(l.Clients, 4096)
	return l
}

// Boot is the state of the store at start.
type Boot struct {
	Seq      int64 // the next number is Seq+1
	Reserved int64 // numbers up to here may be used; ignored without a journal
	Channels []BootChannel
	Answered []Answered
}

// BootChannel is a channel asleep in the store.
type BootChannel struct {
	ChannelInfo
	Floor, Last int64
}

// Answered is a client action that was accepted before the restart.
type Answered struct {
	Principal, ClientID string
	ClientSeq, Seq      int64
	Channel             ahp.URI
}

// Hub holds the timeline. All its methods may be called from any goroutine.
type Hub struct {
	now    func() time.Time
	limits Limits
	quorum func() error // nil: this host is alone
	derive func(*Tx, *Envelope)

	complete func(*Tx, ChannelInfo, ahp.State) ahp.State // see CompleteSnapshots; nil leaves them

	durable atomic.Int64 // journal position up to which everything is on disk
	failing atomic.Bool  // the journal cannot be written at present
	queued  atomic.Int64 // bytes that queues hold; shared entries count once

	mu       sync.Mutex
	seq      int64
	channels map[ahp.URI]*channel
	clients  map[clientKey]*client
	forgot   int64 // number at which a client was last forgotten
	conns    map[*Conn]struct{}
	waiting  []*Conn // connections that queued something not yet durable

	queuedLimit int64 // queued bytes above which the slowest connections are closed
	journal     journal
	effects     effects
	tx          Tx // the running step
}

// New returns a hub with the state of the store.
func New(cfg Config) *Hub {
	h := &Hub{
		now:      cfg.Now,
		limits:   cfg.Limits.withDefaults(),
		quorum:   cfg.Quorum,
		derive:   cfg.Derive,
		seq:      cfg.Boot.Seq,
		channels: make(map[ahp.URI]*channel, len(cfg.Boot.Channels)),
		clients:  map[clientKey]*client{},
		conns:    map[*Conn]struct{}{},
		journal:  newJournal(cfg.Journal, cfg.Boot.Reserved),
		effects:  newEffects(),
	}
	if h.now == nil {
		h.now = time.Now
	}
	h.queuedLimit = int64(h.limits.QueuedBytes)
	for _, b := range cfg.Boot.Channels {
		ch := &channel{info: b.ChannelInfo, last: b.Last}
		ch.window.floor = b.Floor
		h.channels[b.URI] = ch
	}
	for _, a := range cfg.Boot.Answered {
		h.client(clientKey{a.Principal, a.ClientID}).remember(a.ClientSeq, answered{seq: a.Seq}, h.limits.Answers)
	}
	return h
}

// CompleteSnapshots sets f, which adds to subscribers' snapshots what no action changes, under the
// lock and without I/O. Call it once, before the first connection.
func (h *Hub) CompleteSnapshots(f func(tx *Tx, ch ChannelInfo, s ahp.State) ahp.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.complete = f
}

// Seq returns the newest number.
func (h *Hub) Seq() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// State returns a channel's state and the number of its newest envelope; ok is false when the
// channel is unknown or asleep.
func (h *Hub) State(uri ahp.URI) (s ahp.State, seq int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[uri]
	if ch == nil || ch.isAsleep() {
		return nil, 0, false
	}
	return ch.state, ch.last, true
}

// Info describes a channel, asleep or not.
func (h *Hub) Info(uri ahp.URI) (ChannelInfo, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[uri]; ch != nil {
		return ch.info, true
	}
	return ChannelInfo{}, false
}

// Stats are the hub's counters for operators.
type Stats struct {
	Seq, Durable             int64
	Channels, Awake          int
	Conns, Clients           int
	UnjournaledBytes, Window int
	QueuedBytes              int64
}

// Stats returns the counters.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Seq: h.seq, Durable: h.durable.Load(), Channels: len(h.channels), Conns: len(h.conns),
		Clients: len(h.clients), UnjournaledBytes: h.journal.bytes + h.journal.inFlight, QueuedBytes: h.queued.Load()}
	for _, ch := range h.channels {
		if !ch.isAsleep() {
			s.Awake++
		}
		s.Window += ch.window.bytes
	}
	return s
}
