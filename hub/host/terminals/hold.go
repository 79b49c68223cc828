package terminals

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

// Grace times of a disconnected holder. Clients of the protocol have Limits.ClientGrace.
const (
	// after a page's last stream broke; also how long a holder can get the terminal back
	PageGrace = 3 * time.Second
	FormGrace = 2 * time.Minute // after a claim or typing by a form, without a stream
)

// holding is a terminal's state beyond the claim: whether the holder is connected, and the requests
// for control. Its lock is taken below the hub's; no lock is taken below it.
type holding struct {
	mu         sync.Mutex
	holder     string         // clientId of the claim; "" for a session
	vacant     bool           // the holder left, and there is no session to return to
	streams    map[string]int // open streams of each person's pages, by clientId
	graceTimer *time.Timer
	previous   string    // the previous holder, who can get it back
	reclaimBy  time.Time // deadline for that, unless another client claims it first
	asks       []Ask
	watchers   map[chan struct{}]struct{}
	closed     bool
}

// isFree reports whether any client may claim the terminal, as no connected client holds it.
func (d *holding) isFree(c ahp.TerminalClaim) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, client := c.Value.(*ahp.TerminalClientClaim)
	return !client || d.vacant
}

func (d *holding) ask(a Ask) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(a.Client)
	if len(d.asks) >= mostAsks {
		return core.BadParams("%d people have already requested control of this terminal. Try again later", mostAsks)
	}
	d.asks = append(d.asks, a)
	d.notifyLocked()
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
	d.notifyLocked()
}

func (d *holding) forget(client string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(client)
	d.notifyLocked()
}

func (d *holding) drop(client string) {
	d.asks = slices.DeleteFunc(d.asks, func(a Ask) bool { return a.Client == client })
}

func (d *holding) list(now time.Time) []Ask {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks = slices.DeleteFunc(d.asks, func(a Ask) bool { return now.Sub(a.At) > AskExpiry })
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

func (d *holding) notify() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notifyLocked()
}

// notifyLocked wakes watchers. d.mu is held.
func (d *holding) notifyLocked() {
	for ch := range d.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// setHolder records a new holder. A holder without a stream used a form, and gets FormGrace.
func (d *holding) setHolder(p *Part, t *term, c ahp.TerminalClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holder, d.vacant = "", false
	if held, ok := c.Value.(*ahp.TerminalClientClaim); ok {
		d.holder, d.previous = held.ClientID, ""
	}
	d.drop(d.holder)
	d.keepHolder()
	if _, page := core.PageOwner(d.holder); page && d.streams[d.holder] == 0 {
		d.startGrace(p, t, FormGrace)
	}
	d.notifyLocked()
}

// startGrace starts the holder's grace time. d.mu is held.
func (d *holding) startGrace(p *Part, t *term, grace time.Duration) {
	d.keepHolder()
	if d.closed {
		return
	}
	holder := d.holder
	d.graceTimer = time.AfterFunc(grace, func() {
		p.core.Lanes.Add(p.core.Ctx, t.info.URI, func(ctx context.Context) { p.releaseFrom(ctx, t, holder) })
	})
}

// keepHolder stops the holder's grace time. d.mu is held.
func (d *holding) keepHolder() {
	if d.graceTimer != nil {
		d.graceTimer.Stop()
	}
	d.graceTimer = nil
}

func (d *holding) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.keepHolder()
}

// noteTyping restarts the grace time of a holder without a stream, who typed by a form.
func (d *holding) noteTyping(p *Part, t *term) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.graceTimer != nil {
		d.startGrace(p, t, FormGrace)
	}
}

// Attend counts a caller's stream of a terminal. Call leave when the stream ends, with goodbye if
// the page announced its end. After the holder's last stream, the terminal goes to the first
// requesting client, or to its session: at once after a goodbye, else after PageGrace. As a reload
// is a goodbye too, a holder who returns within PageGrace gets the terminal back unless another
// client took it.
func (p *Part) Attend(c core.Caller, uri ahp.URI) (leave func(goodbye bool)) {
	t := p.get(uri)
	if t == nil {
		return func(bool) {}
	}
	client, d := core.PageClient(c.ID), &t.hold
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams == nil {
		d.streams = map[string]int{}
	}
	d.streams[client]++
	if d.holder == client {
		d.keepHolder()
	}
	if d.previous == client {
		p.core.Lanes.Add(p.core.Ctx, uri, func(ctx context.Context) { p.restoreHolder(ctx, c, t) })
	}
	var once sync.Once
	return func(goodbye bool) { once.Do(func() { d.leave(p, t, client, goodbye) }) }
}

// leave removes a stream of a client.
func (d *holding) leave(p *Part, t *term, client string, goodbye bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[client]--; d.streams[client] > 0 {
		return
	}
	delete(d.streams, client)
	switch {
	case d.holder != client:
	case goodbye:
		d.startGrace(p, t, 0)
	default:
		d.startGrace(p, t, PageGrace)
	}
}

// restoreHolder returns the terminal to a holder who reconnected in time.
func (p *Part) restoreHolder(ctx context.Context, c core.Caller, t *term) {
	if access.MayAct(c.Principal, "terminal/claimed", t.info) != nil {
		return
	}
	client := core.PageClient(c.ID)
	_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only if the host stops, which ends the terminal
		s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
		if open && !hasExited(s) && t.hold.isBack(client, p.core.Now()) {
			tx.Apply(t.info.URI, claimFor(client))
		}
	})
}

// isBack reports whether the previous holder reconnected in time.
func (d *holding) isBack(client string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.previous == client && now.Before(d.reclaimBy) && d.streams[client] > 0
}

// Disconnected starts the grace time of a disconnected client in the terminals that it holds.
func (p *Part) Disconnected(client string) {
	for _, t := range p.list(func(t *term) bool { return t.hold.isHeldBy(client) }) {
		t.hold.mu.Lock()
		t.hold.startGrace(p, t, p.cfg.ClientGrace)
		t.hold.mu.Unlock()
	}
}

func (d *holding) isHeldBy(client string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return client != "" && d.holder == client
}

// isAway reports whether a holder is still disconnected after the grace time.
func (d *holding) isAway(p *Part, holder string) bool {
	if p.core.Hub.IsConnected(holder) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holder == holder && d.streams[holder] == 0
}

// releaseFrom takes a terminal from a disconnected holder. The first requesting client gets it,
// else its session; without either, any client may claim it.
func (p *Part) releaseFrom(ctx context.Context, t *term, holder string) {
	if !t.hold.isAway(p, holder) {
		return
	}
	if t.info.Session != "" {
		if err := p.core.Wake(ctx, t.info); err != nil {
			p.core.Log.Warn("a terminal's session cannot be loaded", "terminal", t.info, "err", err)
		}
	}
	next := p.nextHolder(t)
	_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only if the host stops, which ends the terminal
		s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
		if !open || hasExited(s) || !t.hold.giveUp(holder, p.core.Now()) {
			return
		}
		if next == "" {
			p.vacate(tx, t)
			return
		}
		tx.Apply(t.info.URI, claimFor(next))
	})
}

// vacate returns a terminal to its session; without one, any client may claim it.
func (p *Part) vacate(tx *hub.Tx, t *term) {
	if session, ok := hub.StateOf[*ahp.SessionState](tx, t.info.Session); ok && session.DefaultChat != "" {
		tx.Apply(t.info.URI, t.sessionClaim(session.DefaultChat))
		return
	}
	t.hold.vacate()
}

// Evict takes all terminals from a client whose id another principal takes.
func (p *Part) Evict(tx *hub.Tx, client string) {
	for _, t := range p.list(func(t *term) bool { return t.hold.isHeldBy(client) }) {
		p.takeFrom(tx, t, client)
	}
}

func (p *Part) takeFrom(tx *hub.Tx, t *term, client string) {
	t.hold.forget(client)
	if s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI); open && !hasExited(s) && t.hold.isHeldBy(client) {
		p.vacate(tx, t)
	}
}

// giveUp reports whether the holder is still disconnected. If so, it sets the deadline to get the
// terminal back.
func (d *holding) giveUp(holder string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder != holder || d.streams[holder] > 0 {
		return false
	}
	d.previous, d.reclaimBy = holder, now.Add(PageGrace)
	return true
}

func (d *holding) vacate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.vacant = true
	d.notifyLocked()
}

// nextHolder returns the first requesting client that is connected, or "".
func (p *Part) nextHolder(t *term) string {
	for _, a := range t.hold.list(p.core.Now()) {
		if !a.Denied && (p.core.Hub.IsConnected(a.Client) || t.hold.isAttendedBy(a.Client)) {
			return a.Client
		}
	}
	return ""
}

func (d *holding) isAttendedBy(client string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.streams[client] > 0
}
