package live

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/handlers/upgrade"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/quota"
)

// grant lets a visitor of another node into rooms. It lasts as long as the stream would that the visitor has there.
type grant struct {
	id     uint64
	ctx    context.Context // of the stream; ends with the visitor's rights
	rooms  []*trunkRoom
	events chan event
	shut   bool   // the node was told that it is over; of the trunk
	end    func() // says that the visitor has gone
	ended  <-chan struct{}
}

// granted is the answer to a node that asks for a grant.
type granted struct {
	Rooms  []grantedRoom `json:"rooms"` // as the marks were
	Holder quota.Holder  `json:"holder"`
}

// grantedRoom is a room of a grant.
type grantedRoom struct {
	ID    uint64 `json:"id"` // on the trunk
	Epoch string `json:"epoch"`
	Start int64  `json:"start"` // frames come over the trunk from the one after it
}

type grantKey struct{}

// WithGrant marks a request for a stream that another node serves by a grant of that name. Only call it for requests that
// nodes alone can make.
func WithGrant(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, grantKey{}, name)
}

func grantName(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(grantKey{}).(string)
	return name, ok
}

// serveGrant answers a node that asks for a visitor, and keeps the grant until either ends it.
func (e *Engine) serveGrant(w http.ResponseWriter, r *http.Request, who access.Principal, name string, readers []reader,
	leave func()) error {
	at, number, _ := strings.Cut(name, ".")
	id, err := strconv.ParseUint(number, 10, 64)
	t := e.trunk(at)
	if err != nil || t == nil {
		leave()
		return ErrBusy // the connection has ended; the page tries again
	}
	ctx, end := e.BindStream(r.Context(), who)
	g, answer := t.grant(ctx, id, readers)
	if g == nil {
		end(nil)
		leave()
		return ErrBusy
	}
	answer.Holder = holderOf(who)
	b, err := json.Marshal(answer)
	if err != nil {
		end(nil)
		return err // numbers and words
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // a node that is gone ends the trunk
	_ = http.NewResponseController(w).Flush()
	v := e.cfg.Visit(r, who)
	upgrade.Keep(r.Context(), func() {
		defer leave()
		defer end(nil)
		defer t.remove(g)
		e.keepGrant(v, t, g)
	})
	return nil
}

// keepGrant handles what the visitor says and does, until the visitor has gone or is shut out.
func (e *Engine) keepGrant(v Visitor, t *trunk, g *grant) {
	e.pages.Add(1)
	defer e.pages.Add(-1)
	defer v.End()
	for {
		select {
		case <-g.ended:
			return
		case <-g.ctx.Done():
			t.mu.Lock()
			t.shutOutEnded(g)
			t.mu.Unlock()
			return
		case ev := <-g.events:
			switch ev.Do {
			case "said":
				if err := v.Hear(ev.Said[:min(len(ev.Said), mostSaid)]); err != nil {
					t.mu.Lock()
					t.shutOut(g, int(websocket.StatusPolicyViolation), err.Error())
					t.mu.Unlock()
					return
				}
			case "lost":
				v.MarkLost()
			case "back":
				v.MarkBack()
			case "end":
				return
			}
		}
	}
}

// grant lets a visitor into the rooms of readers. It returns nil when the trunk has ended, has a grant of that number, or
// was told that the visitor has left.
func (t *trunk) grant(ctx context.Context, id uint64, readers []reader) (*grant, granted) {
	ended := make(chan struct{})
	g := &grant{id: id, ctx: ctx, events: make(chan event, grantEvents), end: sync.OnceFunc(func() { close(ended) }), ended: ended}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.early.has(id) || t.grants[id] != nil {
		return nil, granted{}
	}
	t.grants[id] = g
	var answer granted
	for _, rd := range readers {
		f := rd.feed.(*feed)
		room := t.room(f, rd.at)
		room.grants++
		g.rooms = append(g.rooms, room)
		answer.Rooms = append(answer.Rooms, grantedRoom{room.id, f.epoch, room.start})
	}
	return g, answer
}

// room returns a feed as it goes over the trunk, from a mark on if that is new; mu is held.
func (t *trunk) room(f *feed, from mark) *trunkRoom {
	for _, room := range t.rooms {
		if room.feed == f {
			return room
		}
	}
	t.last++
	room := &trunkRoom{id: t.last, feed: f, start: f.startFrom(from)}
	room.at = room.start
	t.rooms[room.id] = room
	f.join(t.wake)
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return room
}

// startFrom returns the number of a mark if what follows it is kept, else the newest.
func (f *feed) startFrom(m mark) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.has(m.epoch, m.n) {
		return m.n
	}
	return f.n
}

// remove forgets a grant, and the rooms that no other one is for.
func (t *trunk) remove(g *grant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.grants, g.id)
	for _, room := range g.rooms {
		if room.grants--; room.grants == 0 && t.rooms[room.id] == room && !t.over {
			delete(t.rooms, room.id)
			room.feed.leave(t.wake)
			t.rule(ruling{Drop: room.id})
		}
	}
}

// shutOutEnded has the node end the stream of a visitor whose rights have ended; mu is held.
func (t *trunk) shutOutEnded(g *grant) {
	if errors.Is(context.Cause(g.ctx), access.ErrRevoked) {
		t.shutOut(g, codeRevoked, "revoked")
		return
	}
	t.shutOut(g, 0, "")
}

// shutOut has the node end a visitor's stream; mu is held.
func (t *trunk) shutOut(g *grant, code int, why string) {
	if g.shut {
		return
	}
	g.shut = true
	t.endings++
	t.rule(ruling{End: g.id, Code: code, Why: why})
}

// AwaitNodes returns once no node shows anything more to visitors whose rights have ended before the call, or of sessions that were
// deleted: each has said so, or has heard nothing for so long that it ended its streams. What takes rights or a session away is
// answered after it.
func (e *Engine) AwaitNodes(ctx context.Context) {
	e.mu.Lock()
	trunks := slices.Collect(maps.Values(e.trunks))
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, trunkSilence)
	defer cancel()
	for _, t := range trunks {
		if said := t.endStreams(); said != nil {
			select {
			case <-said:
			case <-ctx.Done():
				return
			}
		}
	}
}

// endStreams shuts out all whose rights have ended, and ends rooms of what was deleted. The channel is closed once the node has ended
// these streams; it is nil when that is so already.
func (t *trunk) endStreams() (said <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.grants {
		if g.ctx.Err() != nil {
			t.shutOutEnded(g)
		}
	}
	for _, room := range t.rooms {
		if room.feed.deleted.Load() {
			t.endRoom(room)
		}
	}
	if t.said >= t.endings {
		return nil
	}
	done := make(chan struct{})
	t.waiting = append(t.waiting, sayWaiter{t.endings, done})
	t.rule(ruling{Say: t.endings})
	return done
}

// sayWaiter waits until a node has said that it has obeyed as many endings.
type sayWaiter struct {
	endings uint64
	done    chan struct{}
}

// heard notes how many endings a node has obeyed; mu is held.
func (t *trunk) heard(endings uint64) {
	t.said = max(t.said, endings)
	t.waiting = slices.DeleteFunc(t.waiting, func(w sayWaiter) bool {
		if w.endings > t.said {
			return false
		}
		close(w.done)
		return true
	})
}
