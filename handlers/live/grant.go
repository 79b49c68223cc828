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

// grant admits a visitor of a follower to rooms. It lasts as long as the visitor's stream there.
type grant struct {
	id     uint64
	ctx    context.Context // of the stream; ends with the visitor's rights
	rooms  []*trunkRoom
	events chan event
	shut   bool   // the follower was told that the grant has ended; guarded by the trunk's mu
	end    func() // closes ended
	ended  <-chan struct{}
}

// grantAnswer is the answer to a follower that requests a grant.
type grantAnswer struct {
	Rooms  []grantedRoom `json:"rooms"` // in the order of the marks
	Holder quota.Holder  `json:"holder"`
}

// grantedRoom is a room of a grant.
type grantedRoom struct {
	ID    uint64 `json:"id"` // on the trunk
	Epoch string `json:"epoch"`
	Start int64  `json:"start"` // number of the frame before the first that the trunk carries
}

type grantKey struct{}

// WithGrant marks a request for a stream that a follower serves by the named grant. Call it only for
// requests that come from nodes.
func WithGrant(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, grantKey{}, name)
}

func grantName(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(grantKey{}).(string)
	return name, ok
}

// serveGrant answers a follower's request for a grant, and keeps the grant until either side ends it.
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
		return err // numbers and strings can always be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // if the follower is gone, its trunk ends
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

// keepGrant handles the visitor's events until the visitor leaves or loses access.
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
				if err := v.Hear(ev.Message[:min(len(ev.Message), mostSaid)]); err != nil {
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

// grant admits a visitor to the rooms of readers. It returns nil when the trunk has ended, has a grant
// of that number, or was told that the visitor has left.
func (t *trunk) grant(ctx context.Context, id uint64, readers []reader) (*grant, grantAnswer) {
	ended := make(chan struct{})
	g := &grant{id: id, ctx: ctx, events: make(chan event, grantEvents), end: sync.OnceFunc(func() { close(ended) }), ended: ended}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.early.has(id) || t.grants[id] != nil {
		return nil, grantAnswer{}
	}
	t.grants[id] = g
	var answer grantAnswer
	for _, rd := range readers {
		f := rd.feed.(*feed)
		room := t.room(f, rd.at)
		room.grants++
		g.rooms = append(g.rooms, room)
		answer.Rooms = append(answer.Rooms, grantedRoom{room.id, f.epoch, room.start})
	}
	return g, answer
}

// room returns the room of a feed. A new room is sent from the mark on; mu is held.
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

// startFrom returns the number of a mark if the frames after it are kept, and the newest number if not.
func (f *feed) startFrom(m mark) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.has(m.epoch, m.n) {
		return m.n
	}
	return f.n
}

// remove removes a grant, and the rooms that no other grant needs.
func (t *trunk) remove(g *grant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.grants, g.id)
	for _, room := range g.rooms {
		if room.grants--; room.grants == 0 && t.rooms[room.id] == room && !t.ended {
			delete(t.rooms, room.id)
			room.feed.leave(t.wake)
			t.queueRuling(ruling{Drop: room.id})
		}
	}
}

// shutOutEnded makes the follower end the stream of a visitor whose rights have ended; mu is held.
func (t *trunk) shutOutEnded(g *grant) {
	if errors.Is(context.Cause(g.ctx), access.ErrRevoked) {
		t.shutOut(g, codeRevoked, "revoked")
		return
	}
	t.shutOut(g, 0, "")
}

// shutOut makes the follower end a visitor's stream; mu is held.
func (t *trunk) shutOut(g *grant, code int, why string) {
	if g.shut {
		return
	}
	g.shut = true
	t.endings++
	t.queueRuling(ruling{End: g.id, Code: code, Why: why})
}

// AwaitNodes waits until no follower streams to visitors whose rights ended before the call, or from
// sessions deleted before it: each follower has confirmed this, or has ended its streams after
// trunkSilence without a message. Requests that revoke rights or delete a session answer after it.
func (e *Engine) AwaitNodes(ctx context.Context) {
	e.mu.Lock()
	trunks := slices.Collect(maps.Values(e.trunks))
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, trunkSilence)
	defer cancel()
	for _, t := range trunks {
		if confirmed := t.endStreams(); confirmed != nil {
			select {
			case <-confirmed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// endStreams shuts out visitors whose rights have ended, and ends rooms of deleted sessions and chats. The
// channel is closed once the follower has confirmed this; it is nil when it already has.
func (t *trunk) endStreams() (confirmed <-chan struct{}) {
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
	if t.confirmed >= t.endings {
		return nil
	}
	done := make(chan struct{})
	t.waiters = append(t.waiters, endingWaiter{t.endings, done})
	t.queueRuling(ruling{Confirm: t.endings})
	return done
}

// endingWaiter waits until a follower has confirmed a number of endings.
type endingWaiter struct {
	endings uint64
	done    chan struct{}
}

// confirmEndings records how many endings the follower has confirmed; mu is held.
func (t *trunk) confirmEndings(endings uint64) {
	t.confirmed = max(t.confirmed, endings)
	t.waiters = slices.DeleteFunc(t.waiters, func(w endingWaiter) bool {
		if w.endings > t.confirmed {
			return false
		}
		close(w.done)
		return true
	})
}
