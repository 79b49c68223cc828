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

// farTrunk is the end of a trunk at the node that follows.
type farTrunk struct {
	name string
	ctx  context.Context // ends with it
	stop context.CancelCauseFunc
	wake chan struct{}

	said   sync.Mutex
	events []event // to be sent

	mu      sync.Mutex
	over    bool
	grants  map[uint64]*farGrant
	mirrors map[uint64]*mirror
	dropped numberSet // rooms that have ended here; an answer about a grant may arrive later, over another connection
	last    uint64    // number of the newest grant
}

// farGrant is a visitor of this node that the node that leads has let in, or was asked to.
type farGrant struct {
	id    uint64
	trunk *farTrunk
	ctx   context.Context // ends when it is over
	stop  context.CancelCauseFunc
	lost  bool // the page does not answer; of its heartbeat
}

// run takes and sends until the connection ends.
func (t *farTrunk) run(c *websocket.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { t.stop(t.read(c)) })
	wg.Go(func() { t.stop(t.write(c)) })
	KeepAlive(t.ctx, c, func() { t.stop(errTrunkEnded) })
	_ = c.CloseNow()
	wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
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
		b, err := io.ReadAll(heard{r, silence})
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			err = t.takeFrame(b)
		} else {
			err = t.takeRuling(b)
		}
		if err != nil {
			return err
		}
	}
}

// heard notes each piece of a message: a long one takes time.
type heard struct {
	io.Reader
	silence *time.Timer
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.silence.Reset(trunkSilence)
	return n, err
}

func (t *farTrunk) takeFrame(b []byte) error {
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
	if !m.take(f.frame) {
		return errTrunkFrame
	}
	return nil
}

// addMirror begins to keep a room; mu is held.
func (t *farTrunk) addMirror(id uint64, start int64) *mirror {
	m := newMirror(id, start, func(room uint64) { t.tell(event{Do: "whole", Room: room}) })
	t.mirrors[id] = m
	return m
}

func (t *farTrunk) takeRuling(b []byte) error {
	var r ruling
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.grants[r.End]; g != nil {
		delete(t.grants, r.End)
		g.stop(shutOut{websocket.StatusCode(r.Code), r.Why})
	}
	if r.Drop > 0 {
		t.dropped.add(r.Drop)
	}
	if m := t.mirrors[r.Drop]; m != nil {
		delete(t.mirrors, r.Drop)
		m.finish(shutOut{websocket.StatusCode(r.Code), cmp.Or(r.Why, ErrGone.Error())})
	}
	if r.Say > 0 {
		t.tell(event{Do: "ended", Say: r.Say})
	}
	return nil
}

// write sends events and heartbeats until the connection ends.
func (t *farTrunk) write(c *websocket.Conn) error {
	beat := time.NewTicker(trunkBeat)
	defer beat.Stop()
	t.tell(event{Do: "alive"})
	for {
		t.said.Lock()
		events := t.events
		t.events = nil
		t.said.Unlock()
		for _, ev := range events {
			if err := writeJSON(t.ctx, c, ev); err != nil {
				return err
			}
		}
		select {
		case <-t.wake:
		case <-beat.C:
			t.tell(event{Do: "alive"})
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// tell sends an event. It may be called with any other lock held.
func (t *farTrunk) tell(ev event) {
	t.said.Lock()
	t.events = append(t.events, ev)
	t.said.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // the writer looks already
	}
}

// admit returns a grant to ask for.
func (t *farTrunk) admit() (*farGrant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, errTrunkEnded
	}
	t.last++
	g := &farGrant{id: t.last, trunk: t}
	g.ctx, g.stop = context.WithCancelCause(t.ctx)
	t.grants[g.id] = g
	return g, nil
}

// mirrorFor returns a room that a grant is for. It fails when the grant or the room has ended.
func (t *farTrunk) mirrorFor(g *farGrant, room grantedRoom) (*mirror, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.grants[g.id] == nil {
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

// Hear implements Visitor: the node that leads hears what the page says.
func (g *farGrant) Hear(said []byte) error {
	g.trunk.tell(event{Grant: g.id, Do: "said", Said: said})
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
		g.trunk.tell(event{Grant: g.id, Do: do})
	}
}

// End implements Visitor: the page is gone, or nobody waits for the grant.
func (g *farGrant) End() {
	if g.forget() {
		g.trunk.tell(event{Grant: g.id, Do: "end"})
	}
}

// forget reports whether the grant had not ended before.
func (g *farGrant) forget() bool {
	t := g.trunk
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.grants[g.id] != nil
	delete(t.grants, g.id)
	g.stop(nil)
	return known
}
