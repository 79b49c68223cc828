package live

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// farTrunk is a follower's end of the connection to the leader.
type farTrunk struct {
	name string
	ctx  context.Context // ends with the connection
	stop context.CancelCauseFunc
	wake chan struct{}

	eventsMu sync.Mutex
	events   []event // to be sent

	mu      sync.Mutex
	ended   bool
	grants  map[uint64]*farGrant
	mirrors map[uint64]*mirror
	dropped numberSet // rooms that have ended: answers about grants use other connections, and may be late
	last    uint64    // number of the newest grant
}

// farGrant is a visitor of this node whom the leader has admitted, or was asked to admit.
type farGrant struct {
	id    uint64
	trunk *farTrunk
	ctx   context.Context // ends with the grant
	stop  context.CancelCauseFunc
	lost  bool // the page does not answer heartbeats
}

// run sends and receives until the connection ends.
func (t *farTrunk) run(c *websocket.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { t.stop(t.read(c)) })
	wg.Go(func() { t.stop(t.write(c)) })
	KeepAlive(t.ctx, c, func() { t.stop(errTrunkEnded) })
	_ = c.CloseNow()
	wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for _, m := range t.mirrors {
		m.finish(errTrunkEnded)
	}
	t.mirrors = nil
}

func (t *farTrunk) read(c *websocket.Conn) error {
	silence := time.AfterFunc(trunkSilence, func() { t.stop(errTrunkEnded) })
	defer silence.Stop()
	for {
		kind, r, err := c.Reader(t.ctx)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(heartbeatReader{r, silence})
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			err = t.handleFrame(b)
		} else {
			err = t.handleRuling(b)
		}
		if err != nil {
			return err
		}
	}
}

// heartbeatReader takes each piece of a message as a heartbeat: a long message takes time.
type heartbeatReader struct {
	io.Reader
	silence *time.Timer
}

func (h heartbeatReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.silence.Reset(trunkSilence)
	return n, err
}

func (t *farTrunk) handleFrame(b []byte) error {
	f, err := decodeTrunkFrame(b)
	if err != nil {
		return err
	}
	t.mu.Lock()
	m := t.mirrors[f.room]
	if m == nil {
		start := f.frame.n
		if !f.frame.whole {
			start--
		}
		m = t.addMirror(f.room, start)
	}
	t.mu.Unlock()
	if !m.addFrame(f.frame) {
		return errTrunkFrame
	}
	return nil
}

// addMirror adds a mirror of a room; mu is held.
func (t *farTrunk) addMirror(id uint64, start int64) *mirror {
	m := newMirror(id, start, func(room uint64) { t.queueEvent(event{Do: "whole", Room: room}) })
	t.mirrors[id] = m
	return m
}

func (t *farTrunk) handleRuling(b []byte) error {
	var r ruling
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.grants[r.End]; g != nil {
		delete(t.grants, r.End)
		g.stop(closeReason{websocket.StatusCode(r.Code), r.Why})
	}
	if r.Drop > 0 {
		t.dropped.add(r.Drop)
	}
	if m := t.mirrors[r.Drop]; m != nil {
		delete(t.mirrors, r.Drop)
		m.finish(closeReason{websocket.StatusCode(r.Code), cmp.Or(r.Why, ErrGone.Error())})
	}
	if r.Confirm > 0 {
		t.queueEvent(event{Do: "ended", Confirm: r.Confirm})
	}
	return nil
}

// write sends events and heartbeats until the connection ends.
func (t *farTrunk) write(c *websocket.Conn) error {
	beat := time.NewTicker(trunkBeat)
	defer beat.Stop()
	t.queueEvent(event{Do: "alive"})
	for {
		t.eventsMu.Lock()
		events := t.events
		t.events = nil
		t.eventsMu.Unlock()
		for _, ev := range events {
			if err := writeJSON(t.ctx, c, ev); err != nil {
				return err
			}
		}
		select {
		case <-t.wake:
		case <-beat.C:
			t.queueEvent(event{Do: "alive"})
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// queueEvent has the writer send an event. It may be called with any other lock held.
func (t *farTrunk) queueEvent(ev event) {
	t.eventsMu.Lock()
	t.events = append(t.events, ev)
	t.eventsMu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // the writer is already awake
	}
}

// admit returns a new grant, for which the leader is yet to be asked.
func (t *farTrunk) admit() (*farGrant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, errTrunkEnded
	}
	t.last++
	g := &farGrant{id: t.last, trunk: t}
	g.ctx, g.stop = context.WithCancelCause(t.ctx)
	t.grants[g.id] = g
	return g, nil
}

// mirrorFor returns the mirror of a room that the leader has admitted a visitor to. It returns an error
// when the grant or the room has ended.
func (t *farTrunk) mirrorFor(g *farGrant, room grantedRoom) (*mirror, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.grants[g.id] == nil {
		return nil, errTrunkEnded
	}
	m := t.mirrors[room.ID]
	switch {
	case m == nil && t.dropped.has(room.ID):
		return nil, errRoomEnded
	case m == nil:
		m = t.addMirror(room.ID, room.Start)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch = room.Epoch
	return m, nil
}

// Hear implements Visitor. The leader receives what the page reports.
func (g *farGrant) Hear(message []byte) error {
	g.trunk.queueEvent(event{Grant: g.id, Do: "said", Message: message})
	return nil
}

// MarkLost implements Visitor.
func (g *farGrant) MarkLost() { g.mark(true) }

// MarkBack implements Visitor.
func (g *farGrant) MarkBack() { g.mark(false) }

func (g *farGrant) mark(lost bool) {
	do := "back"
	if lost {
		do = "lost"
	}
	g.trunk.mu.Lock()
	changed := g.lost != lost
	g.lost = lost
	g.trunk.mu.Unlock()
	if changed {
		g.trunk.queueEvent(event{Grant: g.id, Do: do})
	}
}

// End implements Visitor. It is also called for a grant that is no longer needed.
func (g *farGrant) End() {
	if g.forget() {
		g.trunk.queueEvent(event{Grant: g.id, Do: "end"})
	}
}

// forget ends the grant, and reports whether it had not ended before.
func (g *farGrant) forget() bool {
	t := g.trunk
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.grants[g.id] != nil
	delete(t.grants, g.id)
	g.stop(nil)
	return known
}
