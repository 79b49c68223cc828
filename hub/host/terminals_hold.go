package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// How long the holder of a terminal may be away. Clients of the protocol have Limits.ClientGrace.
const (
	pageGrace = 3 * time.Second // after a person's last stream of it broke off; who left and is back so soon has it again
	formGrace = 2 * time.Minute // after a form claimed it, or typed in it, without a stream
)

// holding is what the host knows of who holds one terminal, beyond the claim: whether the holder
// is here, and who asks. Its lock is taken below the hub's and holds nothing else.
type holding struct {
	mu       sync.Mutex
	holder   string         // clientId of the claim; "" for a session
	vacant   bool           // the holder is gone, and there is no session to give it back to
	here     map[string]int // open streams of each person's pages, by clientId
	gone     *time.Timer
	was      string    // who left, and has it again when they are back
	backBy   time.Time // by then, unless somebody claimed it meanwhile
	asks     []TerminalAsk
	watchers map[chan struct{}]struct{}
	closed   bool
}

// free tells whether anybody may claim it: no client that is here holds it.
func (d *holding) free(c ahp.TerminalClaim) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, client := c.Value.(*ahp.TerminalClientClaim)
	return !client || d.vacant
}

func (d *holding) ask(a TerminalAsk) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(a.Client)
	if len(d.asks) >= mostAsks {
		return core.BadParams("%d people ask for this terminal already: try again later", mostAsks)
	}
	d.asks = append(d.asks, a)
	d.tell()
	return nil
}

func (d *holding) deny(client string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.asks {
		if d.asks[i].Client == client {
			d.asks[i].Denied, d.asks[i].At = true, now
		}
	}
	d.tell()
}

func (d *holding) forget(client string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(client)
	d.tell()
}

func (d *holding) drop(client string) {
	d.asks = slices.DeleteFunc(d.asks, func(a TerminalAsk) bool { return a.Client == client })
}

func (d *holding) list(now time.Time) []TerminalAsk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks = slices.DeleteFunc(d.asks, func(a TerminalAsk) bool { return now.Sub(a.At) > askExpiry })
	return slices.Clone(d.asks)
}

func (d *holding) watch() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watchers == nil {
		d.watchers = map[chan struct{}]struct{}{}
	}
	d.watchers[ch] = struct{}{}
	return ch, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, ch)
	}
}

func (d *holding) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell()
}

// tell ticks; d.mu is held.
func (d *holding) tell() {
	for ch := range d.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// claimed notes a new holder. One whose person has no stream of the terminal has come by a form,
// and gets time until the next.
func (d *holding) claimed(h *Host, t *term, c ahp.TerminalClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holder, d.vacant = "", false
	if held, ok := c.Value.(*ahp.TerminalClientClaim); ok {
		d.holder, d.was = held.ClientID, ""
	}
	d.drop(d.holder)
	d.stay()
	if _, page := core.PageOwner(d.holder); page && d.here[d.holder] == 0 {
		d.leave(h, t, formGrace)
	}
	d.tell()
}

// leave gives the holder some time to come back; d.mu is held.
func (d *holding) leave(h *Host, t *term, grace time.Duration) {
	d.stay()
	if d.closed {
		return
	}
	holder := d.holder
	d.gone = time.AfterFunc(grace, func() {
		h.core.Lanes.Add(h.core.Ctx, t.info.URI, func(ctx context.Context) { h.releaseTerminal(ctx, t, holder) })
	})
}

func (d *holding) stay() {
	stopTimer(d.gone)
	d.gone = nil
}

func (d *holding) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.stay()
}

// typed is told that the holder typed: without a stream it was by a form, and they are still here.
func (d *holding) typed(h *Host, t *term) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		d.leave(h, t, formGrace)
	}
}

// AttendTerminal says that a stream of the caller's shows a terminal. Call leave when it ends, with goodbye when its
// page said that it goes: after the last one of its holder's the terminal goes to who asked first, or back to its
// session, at once or, when the line broke, soon. A reload is a goodbye too: who is back by then has it again, if
// nobody took it.
func (h *Host) AttendTerminal(c core.Caller, uri ahp.URI) (leave func(goodbye bool)) {
	t := h.terms.get(uri)
	if t == nil {
		return func(bool) {}
	}
	client, d := core.PageClient(c.ID), &t.hold
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here == nil {
		d.here = map[string]int{}
	}
	d.here[client]++
	if d.holder == client {
		d.stay()
	}
	if d.was == client {
		h.core.Lanes.Add(h.core.Ctx, uri, func(ctx context.Context) { h.giveBack(ctx, c, t) })
	}
	var once sync.Once
	return func(goodbye bool) { once.Do(func() { d.left(h, t, client, goodbye) }) }
}

func (d *holding) left(h *Host, t *term, client string, goodbye bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[client]--; d.here[client] > 0 {
		return
	}
	delete(d.here, client)
	switch {
	case d.holder != client:
	case goodbye:
		d.leave(h, t, 0)
	default:
		d.leave(h, t, pageGrace)
	}
}

// giveBack gives a terminal to who left it just now and is back.
func (h *Host) giveBack(ctx context.Context, c core.Caller, t *term) {
	if access.MayAct(c.Principal, "terminal/claimed", t.info) != nil {
		return
	}
	client := core.PageClient(c.ID)
	_ = h.core.Do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the terminal
		if s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI); open && !exited(s) && t.hold.returns(client, h.core.Now()) {
			tx.Apply(t.info.URI, claimedBy(client))
		}
	})
}

func (d *holding) returns(client string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.was == client && now.Before(d.backBy) && d.here[client] > 0
}

// leaveTerminals starts the grace time of a client whose connection ended, where it holds a terminal.
func (h *Host) leaveTerminals(client string) {
	for _, t := range h.terms.list(func(t *term) bool { return t.hold.heldBy(client) }) {
		t.hold.mu.Lock()
		t.hold.leave(h, t, h.core.Limits.ClientGrace)
		t.hold.mu.Unlock()
	}
}

func (d *holding) heldBy(client string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return client != "" && d.holder == client
}

// away tells whether a holder is still gone now that its time is over.
func (d *holding) away(h *Host, holder string) bool {
	if h.core.Hub.IsConnected(holder) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holder == holder && d.here[holder] == 0
}

// releaseTerminal takes a terminal from a holder that left: the first who asks gets it, else its
// session; where there is neither, whoever wants it may claim it.
func (h *Host) releaseTerminal(ctx context.Context, t *term, holder string) {
	if !t.hold.away(h, holder) {
		return
	}
	if t.info.Session != "" {
		if err := h.core.Ensure(ctx, t.info.Session); err != nil {
			h.core.Log.Warn("a terminal's session cannot be loaded", "terminal", t.info, "err", err)
		}
	}
	next := h.nextHolder(t)
	_ = h.core.Do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the terminal
		s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
		if !open || exited(s) || !t.hold.releases(holder, h.core.Now()) {
			return
		}
		if next == "" {
			h.vacate(tx, t)
			return
		}
		tx.Apply(t.info.URI, claimedBy(next))
	})
}

// vacate gives a terminal to its session; where there is none, anyone may claim it.
func (h *Host) vacate(tx *hub.Tx, t *term) {
	if session, ok := hub.StateOf[*ahp.SessionState](tx, t.info.Session); ok && session.DefaultChat != "" {
		tx.Apply(t.info.URI, t.bySession(session.DefaultChat))
		return
	}
	t.hold.vacate()
}

// takeFrom takes a terminal from a client whose id another principal takes, and forgets that it asked for it.
func (h *Host) takeFrom(tx *hub.Tx, t *term, client string) {
	t.hold.forget(client)
	if s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI); open && !exited(s) && t.hold.heldBy(client) {
		h.vacate(tx, t)
	}
}

// releases tells whether the holder is still gone, who then has some time to come back.
func (d *holding) releases(holder string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder != holder || d.here[holder] > 0 {
		return false
	}
	d.was, d.backBy = holder, now.Add(pageGrace)
	return true
}

func (d *holding) vacate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.vacant = true
	d.tell()
}

// nextHolder is the first who asks and is still here.
func (h *Host) nextHolder(t *term) string {
	for _, a := range t.hold.list(h.core.Now()) {
		if !a.Denied && (h.core.Hub.IsConnected(a.Client) || t.hold.attends(a.Client)) {
			return a.Client
		}
	}
	return ""
}

func (d *holding) attends(client string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.here[client] > 0
}
