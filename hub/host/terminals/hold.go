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

// How long the holder of a terminal may be away. Clients of the protocol have Limits.ClientGrace.
const (
	// after a person's last stream of it broke off; a holder who returns by then has it again
	PageGrace = 3 * time.Second
	FormGrace = 2 * time.Minute // after a form claimed it, or typed in it, without a stream
)

// holding is what the part knows of a terminal's holder beyond the claim: whether the holder is here, and which clients
// ask. Its lock is taken below the hub's; no lock is taken below it.
type holding struct {
	mu       sync.Mutex
	holder   string         // clientId of the claim; "" for a session
	vacant   bool           // the holder is gone, and the terminal has no session to return to
	here     map[string]int // open streams of each person's pages, by clientId
	gone     *time.Timer
	was      string    // the holder that left, who has it again on returning
	backBy   time.Time // by then, unless another client claimed it meanwhile
	asks     []Ask
	watchers map[chan struct{}]struct{}
	closed   bool
}

// isFree reports whether any client may claim the terminal: no client that is here holds it.
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

// notifyLocked wakes watchers; d.mu is held.
func (d *holding) notifyLocked() {
	for ch := range d.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// setHolder notes a new holder. A holder without a stream of the terminal used a form, and gets time until the next.
func (d *holding) setHolder(p *Part, t *term, c ahp.TerminalClaim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holder, d.vacant = "", false
	if held, ok := c.Value.(*ahp.TerminalClientClaim); ok {
		d.holder, d.was = held.ClientID, ""
	}
	d.drop(d.holder)
	d.keepHolder()
	if _, page := core.PageOwner(d.holder); page && d.here[d.holder] == 0 {
		d.startGrace(p, t, FormGrace)
	}
	d.notifyLocked()
}

// startGrace gives the holder some time to return; d.mu is held.
func (d *holding) startGrace(p *Part, t *term, grace time.Duration) {
	d.keepHolder()
	if d.closed {
		return
	}
	holder := d.holder
	d.gone = time.AfterFunc(grace, func() {
		p.core.Lanes.Add(p.core.Ctx, t.info.URI, func(ctx context.Context) { p.releaseFrom(ctx, t, holder) })
	})
}

// keepHolder stops the holder's grace time; d.mu is held.
func (d *holding) keepHolder() {
	if d.gone != nil {
		d.gone.Stop()
	}
	d.gone = nil
}

func (d *holding) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.keepHolder()
}

// noteTyping renews the grace time of a holder that typed: without a stream it was by a form.
func (d *holding) noteTyping(p *Part, t *term) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		d.startGrace(p, t, FormGrace)
	}
}

// Attend counts a stream of the caller that shows a terminal. Call leave when it ends, with goodbye when its page said
// that it leaves. After the holder's last stream the terminal goes to the first client that asked, or back to its
// session: at once, or after a short time when the connection broke. A reload is a goodbye too: a holder who returns
// by then has the terminal again unless another client took it.
func (p *Part) Attend(c core.Caller, uri ahp.URI) (leave func(goodbye bool)) {
	t := p.get(uri)
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
		d.keepHolder()
	}
	if d.was == client {
		p.core.Lanes.Add(p.core.Ctx, uri, func(ctx context.Context) { p.restoreHolder(ctx, c, t) })
	}
	var once sync.Once
	return func(goodbye bool) { once.Do(func() { d.leave(p, t, client, goodbye) }) }
}

// leave ends a stream of a client.
func (d *holding) leave(p *Part, t *term, client string, goodbye bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[client]--; d.here[client] > 0 {
		return
	}
	delete(d.here, client)
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
	_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the terminal
		s, open := hub.StateOf[*ahp.TerminalState](tx, t.info.URI)
		if open && !hasExited(s) && t.hold.isBack(client, p.core.Now()) {
			tx.Apply(t.info.URI, claimFor(client))
		}
	})
}

// isBack reports whether the holder that left is here again in time.
func (d *holding) isBack(client string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.was == client && now.Before(d.backBy) && d.here[client] > 0
}

// Disconnected starts the grace time of a client whose connection ended, in the terminals that it holds.
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

// isAway reports whether a holder is still gone now that its time is over.
func (d *holding) isAway(p *Part, holder string) bool {
	if p.core.Hub.IsConnected(holder) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holder == holder && d.here[holder] == 0
}

// releaseFrom takes a terminal from a holder that left. The first client that asks gets it, else its session; with
// neither, any client may claim it.
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
	_ = p.core.Do(ctx, func(tx *hub.Tx) { // fails only when the host stops, and that ends the terminal
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

// vacate gives a terminal to its session; without one, any client may claim it.
func (p *Part) vacate(tx *hub.Tx, t *term) {
	if session, ok := hub.StateOf[*ahp.SessionState](tx, t.info.Session); ok && session.DefaultChat != "" {
		tx.Apply(t.info.URI, t.sessionClaim(session.DefaultChat))
		return
	}
	t.hold.vacate()
}

// Evict takes from a client, whose id another principal takes, the terminals that it holds.
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

// giveUp reports whether the holder is still gone; if so, the holder has some time to return.
func (d *holding) giveUp(holder string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder != holder || d.here[holder] > 0 {
		return false
	}
	d.was, d.backBy = holder, now.Add(PageGrace)
	return true
}

func (d *holding) vacate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.vacant = true
	d.notifyLocked()
}

// nextHolder returns the first client that asks and is still here, "" without one.
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
	return d.here[client] > 0
}
