package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/upgrade"
)

// In a cluster, visitors of a node that follows are let into rooms by the node that leads, each by a grant. The frames of
// their rooms go to that node over one connection, the trunk, once for all of its visitors.
//
// The node that leads sends frames as binary messages (trunkFrame) and the rest as a ruling in JSON. The other node
// sends events in JSON. What ends a grant is sent before any later frame. A node that hears nothing for a moment ends its
// streams: it does not know whether its visitors are still let in.

const (
	trunkBeat    = 500 * time.Millisecond  // between heartbeats, in both directions
	trunkSilence = 1500 * time.Millisecond // without any from the leader a follower ends its streams
	trunkLost    = 2500 * time.Millisecond // without any from a follower the leader closes the connection
	mostTrunks   = 64                      // open at once
	trunkMessage = 32 << 10                // bytes of an event
	grantEvents  = 16                      // of a grant, that wait to be handled
)

var (
	// errNodeSilent ends the trunk of a follower that has sent no heartbeat for trunkLost.
	errNodeSilent = errors.New("the other node has fallen silent")
	// errNodeReturned ends the trunk of a follower that has opened another one.
	errNodeReturned = errors.New("the other node has connected again")
)

// greeting is the first message of a trunk.
type greeting struct {
	Trunk string `json:"trunk"` // its name, in the names of grants
}

// ruling is what the node that leads decides.
type ruling struct {
	End  uint64 `json:"end,omitempty"`  // grant that is over
	Code int    `json:"code,omitempty"` // that its streams close with; 0: none
	Why  string `json:"why,omitempty"`

	Drop uint64 `json:"drop,omitempty"` // room of which nothing comes any more
	Gone bool   `json:"gone,omitempty"` // because it has ended

	Say uint64 `json:"say,omitempty"` // the node says this number once the streams above have ended
}

// event is what happens at the node of a grant.
type event struct {
	Grant uint64 `json:"grant,omitempty"`
	Do    string `json:"do"`             // said, lost, back, end: by the visitor; whole: the room is needed anew; ended: Say; alive
	Said  []byte `json:"said,omitempty"` // by the page
	Room  uint64 `json:"room,omitempty"`
	Say   uint64 `json:"say,omitempty"` // of the ruling
}

// trunk is the leader's end.
type trunk struct {
	name string
	node string // name of the follower; "" if it is unknown
	wake chan struct{}
	stop context.CancelCauseFunc // closes the connection

	mu      sync.Mutex
	over    bool
	rulings []ruling
	grants  map[uint64]*grant
	early   numberSet // grants that ended before they were made: the request for one comes over another connection
	rooms   map[uint64]*trunkRoom
	last    uint64 // number of the newest room

	endings uint64 // visitors that were shut out, and rooms that ended
	said    uint64 // of them, as the node says
	waiting []sayWaiter
}

// trunkRoom is a room that goes over a trunk.
type trunkRoom struct {
	id     uint64
	feed   *feed
	start  int64 // frames go from the one after it
	at     int64 // the newest that was sent; the writer's
	grants int
	whole  bool // is to be sent anew
}

// ServeTrunk answers a node that follows, until the connection ends.
func (e *Engine) ServeTrunk(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithCancelCause(r.Context())
	t := newTrunk(nodeName(ctx), stop)
	if !e.addTrunk(t) {
		stop(nil)
		http.Error(w, "too many nodes are connected", http.StatusServiceUnavailable)
		return
	}
	c, out, err := upgrade.Accept(w, r, staleAfter, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		stop(nil)
		e.removeTrunk(t)
		return // Accept answered
	}
	c.SetReadLimit(trunkMessage)
	upgrade.Keep(r.Context(), func() {
		defer e.removeTrunk(t)
		t.run(ctx, c, out)
		if errors.Is(context.Cause(ctx), errNodeSilent) {
			awaitSilence(r.Context())
		}
	})
}

func newTrunk(node string, stop context.CancelCauseFunc) *trunk {
	return &trunk{name: rand.Text(), node: node, wake: make(chan struct{}, 1), stop: stop, grants: map[uint64]*grant{},
		rooms: map[uint64]*trunkRoom{}}
}

type nodeKey struct{}

// WithNode marks a request for a trunk as one of the named node.
func WithNode(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nodeKey{}, name)
}

func nodeName(ctx context.Context) string {
	name, _ := ctx.Value(nodeKey{}).(string)
	return name
}

// run sends and receives until the connection ends.
func (t *trunk) run(ctx context.Context, c *websocket.Conn, out *upgrade.Conn) {
	stop := func() { t.stop(nil) }
	var wg sync.WaitGroup
	wg.Go(func() { defer stop(); t.write(ctx, c, out) })
	wg.Go(func() { defer stop(); t.read(ctx, c) })
	KeepAlive(ctx, c, stop) // followers of earlier releases send no heartbeats, but answer pings
	_ = c.CloseNow()
	wg.Wait()
}

// awaitSilence waits until a follower that no longer hears this node has ended its streams: until then its visitors are
// present, and AwaitNodes must wait for it.
func awaitSilence(ctx context.Context) {
	t := time.NewTimer(trunkSilence)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// addTrunk reports whether there is room for another trunk. It closes older ones of the same follower, which opens
// another one only after it has ended the streams of the one before.
func (e *Engine) addTrunk(t *trunk) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.trunks) >= mostTrunks {
		return false
	}
	for _, older := range e.trunks {
		if t.node != "" && older.node == t.node {
			older.stop(errNodeReturned)
		}
	}
	e.trunks[t.name] = t
	return true
}

// removeTrunk ends all that a trunk was for.
func (e *Engine) removeTrunk(t *trunk) {
	e.mu.Lock()
	delete(e.trunks, t.name)
	e.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, g := range t.grants {
		g.end()
	}
	for _, room := range t.rooms {
		room.feed.leave(t.wake)
	}
	t.heard(t.endings) // no stream is left to wait for
}

func (e *Engine) trunk(name string) *trunk {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.trunks[name]
}

// write sends rulings and frames until the connection ends.
func (t *trunk) write(ctx context.Context, c *websocket.Conn, out *upgrade.Conn) {
	beat := time.NewTicker(trunkBeat)
	defer beat.Stop()
	err := writeJSON(ctx, c, greeting{t.name})
	for err == nil {
		rulings, rooms := t.due()
		wrote := len(rulings) > 0
		for _, r := range rulings {
			if err = writeJSON(ctx, c, r); err != nil {
				return
			}
		}
		for _, room := range rooms {
			more, err := t.writeNext(ctx, c, out, room)
			if err != nil {
				return
			}
			wrote = wrote || more
		}
		if wrote {
			continue
		}
		select {
		case <-t.wake:
		case <-beat.C:
			err = writeJSON(ctx, c, ruling{})
		case <-ctx.Done():
			return
		}
	}
}

// due returns what is to be said, and the rooms to look at.
func (t *trunk) due() (rulings []ruling, rooms []*trunkRoom) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rulings, t.rulings = t.rulings, nil
	for _, room := range t.rooms {
		rooms = append(rooms, room)
	}
	slices.SortFunc(rooms, func(a, b *trunkRoom) int { return int(a.id) - int(b.id) })
	return rulings, rooms
}

// writeNext writes a room's next frame, and reports whether there was one.
func (t *trunk) writeNext(ctx context.Context, c *websocket.Conn, out *upgrade.Conn, room *trunkRoom) (bool, error) {
	f, err := room.feed.frameAfter(room.feed.epoch, room.at)
	if err == nil && f.bytes == nil && t.takeWhole(room) {
		f, err = room.feed.frameAfter("", 0)
	}
	if err != nil {
		t.dropRoom(room)
		return true, nil
	}
	if f.bytes == nil {
		return false, nil
	}
	if err := room.feed.settle(ctx); err != nil {
		return false, err
	}
	room.at = f.n
	out.Hold() // a header and its frame leave together
	if err := c.Write(ctx, websocket.MessageBinary, trunkFrame{room.id, f}.encode()); err != nil {
		return false, err
	}
	return true, out.Release()
}

// takeWhole reports whether a room is to be sent anew.
func (t *trunk) takeWhole(room *trunkRoom) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := room.whole
	room.whole = false
	return asked
}

// dropRoom sends nothing more of a room that has ended.
func (t *trunk) dropRoom(room *trunkRoom) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endRoom(room)
}

// endRoom is dropRoom; mu is held.
func (t *trunk) endRoom(room *trunkRoom) {
	if t.rooms[room.id] != room {
		return
	}
	delete(t.rooms, room.id)
	room.feed.leave(t.wake)
	r := ruling{Drop: room.id, Gone: true}
	if room.feed.deleted.Load() {
		r.Code, r.Why = int(errDeleted.code), errDeleted.why
	}
	t.endings++
	t.rule(r)
}

// rule has the other node learn something; mu is held.
func (t *trunk) rule(r ruling) {
	t.rulings = append(t.rulings, r)
	select {
	case t.wake <- struct{}{}:
	default: // the writer looks already
	}
}

// read hands what comes from the node to its grants. The first heartbeat starts the timeout for those that follow:
// followers of earlier releases send none.
func (t *trunk) read(ctx context.Context, c *websocket.Conn) {
	var lost *time.Timer
	for {
		_, b, err := c.Read(context.WithoutCancel(ctx)) // closing the connection ends it
		if err != nil {
			return
		}
		var ev event
		if json.Unmarshal(b, &ev) != nil {
			return
		}
		switch {
		case lost != nil:
			lost.Reset(trunkLost)
		case ev.Do == "alive":
			lost = time.AfterFunc(trunkLost, func() { t.stop(errNodeSilent) })
			defer lost.Stop()
		}
		t.take(ev)
	}
}

func (t *trunk) take(ev event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Do == "ended" {
		t.heard(min(ev.Say, t.endings))
		return
	}
	if room := t.rooms[ev.Room]; ev.Do == "whole" && room != nil {
		room.whole = true
		select {
		case t.wake <- struct{}{}:
		default:
		}
		return
	}
	g := t.grants[ev.Grant]
	if g == nil {
		if ev.Do == "end" {
			t.early.add(ev.Grant)
		}
		return
	}
	select {
	case g.events <- ev:
	default: // it says more than can be handled; its page connects again
		t.rule(ruling{End: g.id})
		g.end()
	}
}

func writeJSON(ctx context.Context, c *websocket.Conn, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(ctx, websocket.MessageText, b)
}
