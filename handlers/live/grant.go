package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
	rooms  []*trunkRoom
	events chan event
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
	g, answer := t.grant(id, readers)
	if g == nil {
		leave()
		return ErrBusy
	}
	answer.Holder = holderOf(who)
	b, err := json.Marshal(answer)
	if err != nil {
		return err // numbers and words
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // a node that is gone ends the trunk
	_ = http.NewResponseController(w).Flush()
	v := e.cfg.Visit(r, who)
	ctx := r.Context()
	upgrade.Keep(ctx, func() {
		defer leave()
		defer t.remove(g)
		e.keepGrant(ctx, who, v, t, g)
	})
	return nil
}

// keepGrant handles what the visitor says and does, until the visitor has gone or is shut out.
func (e *Engine) keepGrant(ctx context.Context, who access.Principal, v Visitor, t *trunk, g *grant) {
	e.pages.Add(1)
	defer e.pages.Add(-1)
	defer v.End()
	ctx, end := e.BindStream(ctx, who)
	defer end(nil)
	for {
		select {
		case <-g.ended:
			return
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), access.ErrRevoked) {
				t.shutOut(g, codeRevoked, "revoked")
			} else {
				t.shutOut(g, 0, "")
			}
			return
		case ev := <-g.events:
			switch ev.Do {
			case "said":
				if err := v.Hear(ev.Said[:min(len(ev.Said), mostSaid)]); err != nil {
					t.shutOut(g, int(websocket.StatusPolicyViolation), err.Error())
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

// grant lets a visitor into the rooms of readers; nil when the trunk has ended or has a grant of that number.
func (t *trunk) grant(id uint64, readers []reader) (*grant, granted) {
	ended := make(chan struct{})
	g := &grant{id: id, events: make(chan event, grantEvents), end: sync.OnceFunc(func() { close(ended) }), ended: ended}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.early[id] || t.grants[id] != nil {
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

// shutOut has the node end a visitor's stream.
func (t *trunk) shutOut(g *grant, code int, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rule(ruling{End: g.id, Code: code, Why: why})
}
