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

// In a cluster, the leader admits each visitor of a follower to rooms by a grant. The frames of these
// rooms go to the follower over one connection, the trunk, once for all of its visitors.
//
// The leader sends frames as binary messages (trunkFrame) and everything else as rulings in JSON. The
// follower sends events in JSON. A ruling that ends a grant precedes all later frames. A follower that
// hears nothing for trunkSilence ends its streams: it no longer knows the rights of its visitors.
//
// Nodes of a cluster may run different releases, and no version is exchanged: both ends ignore unknown
// fields of rulings and events, and the leader ignores unknown events.

const (
	trunkBeat    = 500 * time.Millisecond  // between heartbeats, in both directions
	trunkSilence = 1500 * time.Millisecond // timeout of a follower, which then ends its streams
	trunkLost    = 2500 * time.Millisecond // timeout of the leader, which then closes the connection
	mostTrunks   = 64                      // open at once
	trunkMessage = 32 << 10                // bytes of an event
	grantEvents  = 16                      // queued events of a grant
)

// errNodeReturned ends the trunk of a follower that has opened another one.
var errNodeReturned = errors.New("the other node has connected again")

// greeting is the first message of a trunk.
type greeting struct {
	Trunk string `json:"trunk"` // name of the trunk, the first part of the names of grants
}

// ruling is a message of the leader. An empty one is a heartbeat.
type ruling struct {
	End  uint64 `json:"end,omitempty"`  // number of a grant that has ended
	Code int    `json:"code,omitempty"` // closes the streams of the grant or room; 0: none
	Why  string `json:"why,omitempty"`

	Drop uint64 `json:"drop,omitempty"` // number of a room whose frames are no longer sent
	Gone bool   `json:"gone,omitempty"` // the room has ended

	Confirm uint64 `json:"say,omitempty"` // to be repeated once the streams above have ended
}

// event is a message of a follower. Do is one of:
//
//	alive             a heartbeat
//	said              the page of a visitor has sent Message
//	lost, back, end   the page stopped answering, answers again, is gone
//	whole             the follower needs all of Room
//	ended             streams have ended up to the ruling with the number Confirm
type event struct {
	Grant   uint64 `json:"grant,omitempty"`
	Do      string `json:"do"`
	Message []byte `json:"said,omitempty"`
	Room    uint64 `json:"room,omitempty"`
	Confirm uint64 `json:"say,omitempty"`
}

// trunk is the leader's end of a connection to a follower.
type trunk struct {
	name string
	node string // name of the follower; "" if it is unknown
	wake chan struct{}
	stop context.CancelCauseFunc // closes the connection

	mu      sync.Mutex
	ended   bool
	rulings []ruling
	grants  map[uint64]*grant
	early   numberSet // grants that ended before they were made: requests for grants use other connections
	rooms   map[uint64]*trunkRoom
	last    uint64 // number of the newest room

	endings   uint64 // how many visitors were shut out and rooms ended
	confirmed uint64 // how many of them the follower has confirmed
	waiters   []endingWaiter
}

// trunkRoom is a room whose frames are sent over a trunk.
type trunkRoom struct {
	id     uint64
	feed   *feed
	start  int64 // number of the frame before the first that is sent
	at     int64 // number of the newest frame that was sent; only write uses it
	grants int
	whole  bool // the follower has requested all of the room
}

// ServeTrunk serves a follower until the connection ends.
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
		if !errors.Is(context.Cause(ctx), errNodeReturned) {
			awaitSilence(r.Context()) // the follower may not know yet that the connection has ended
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

// awaitSilence waits until a follower that no longer hears this node has ended its streams. Until then,
// its visitors are present, and AwaitNodes must wait for it.
func awaitSilence(ctx context.Context) {
	t := time.NewTimer(trunkSilence)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// addTrunk reports whether another trunk can be open. It closes older ones of the same follower, which
// opens a trunk only after it has ended the streams of the previous one.
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

// removeTrunk ends the grants of a trunk whose connection has ended.
func (e *Engine) removeTrunk(t *trunk) {
	e.mu.Lock()
	delete(e.trunks, t.name)
	e.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for _, g := range t.grants {
		g.end()
	}
	for _, room := range t.rooms {
		room.feed.leave(t.wake)
	}
	t.confirmEndings(t.endings)
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
		rulings, rooms := t.takePending()
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

// takePending returns the rulings to send, and the rooms that may have frames.
func (t *trunk) takePending() (rulings []ruling, rooms []*trunkRoom) {
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

// takeWhole reports whether the follower has requested all of a room, once per request.
func (t *trunk) takeWhole(room *trunkRoom) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	requested := room.whole
	room.whole = false
	return requested
}

// dropRoom stops sending a room that has ended.
func (t *trunk) dropRoom(room *trunkRoom) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endRoom(room)
}

// endRoom stops sending a room that has ended; mu is held.
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
	t.queueRuling(r)
}

// queueRuling has the writer send a ruling; mu is held.
func (t *trunk) queueRuling(r ruling) {
	t.rulings = append(t.rulings, r)
	select {
	case t.wake <- struct{}{}:
	default: // the writer is already awake
	}
}

// read handles events until the connection ends. The first heartbeat starts the timeout of those that
// follow: followers of earlier releases send none.
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
			lost = time.AfterFunc(trunkLost, func() { t.stop(nil) })
			defer lost.Stop()
		}
		t.handleEvent(ev)
	}
}

func (t *trunk) handleEvent(ev event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Do == "ended" {
		t.confirmEndings(min(ev.Confirm, t.endings))
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
	default: // the page sends more than can be handled; it connects again
		t.queueRuling(ruling{End: g.id})
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
