package rpc

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// reply is what a snapshot or a replay answers: the token that comes back with
// it from the hub's queue, and becomes a frame there, in its place.
type reply interface {
	frame(s *socket, it *hub.Item) ([]byte, error)
}

// write is the writer: it sends what the hub lets go of until the connection
// ends.
func (s *socket) write() {
	var buf []hub.Item
	for {
		items, err := s.conn.Next(s.ctx, buf[:0])
		if err == nil {
			err = s.writeBatch(items)
		}
		if err != nil {
			s.end(cmp.Or(context.Cause(s.ctx), err)) // when the hub closed the connection, the cause is why
			return
		}
		clear(items)
		buf = items
	}
}

// writeBatch lets the frames of one batch leave in few system calls.
func (s *socket) writeBatch(items []hub.Item) error {
	s.out.hold()
	for i := range items {
		if err := s.writeItem(&items[i]); err != nil {
			s.out.release()
			return err
		}
	}
	return s.out.release()
}

// writeItem sends the frame of an item. One that is made for this connection alone and may be large, as a snapshot, is
// taken from a quota while it is there: it is, for as long as a client that asked for it does not read.
func (s *socket) writeItem(it *hub.Item) error {
	if n := int64(min(answerText(it), s.cfg.Limits.SnapshotBytes)); n > smallFrame {
		h := holderOf(s.principal)
		if err := s.cfg.Answers.Take(h, n); err != nil {
			return fmt.Errorf("%w (%w)", errAnswers, err)
		}
		defer s.cfg.Answers.Return(h, n)
	}
	b, err := s.encode(it)
	if err != nil || b == nil {
		return err
	}
	return s.ws.Write(context.Background(), websocket.MessageText, s.names.out(b))
}

// answerText is how much text an answer has that is encoded for one connection, about.
func answerText(it *hub.Item) (n int) {
	for _, snap := range it.Snapshots {
		if chat, ok := snap.State.(*ahp.ChatState); ok {
			if snap.Turns != nil {
				chat = host.TurnsView(chat, *snap.Turns)
			}
			n += host.ChatText(chat)
		}
	}
	return n
}

// encode makes the frame of an item; nil when it is not for this client.
func (s *socket) encode(it *hub.Item) ([]byte, error) {
	if it.Env != nil {
		return s.envelope(it.Env), nil
	}
	if r, ok := it.Token.(reply); ok {
		return r.frame(s, it)
	}
	switch v := it.Put.(type) {
	case []byte:
		s.owed.Add(-int64(len(v)))
		return v, nil
	case exported:
		return v.bytes(s), nil
	case *hub.Notification:
		return v.Bytes(s.tongue.key, s.tongue.notify), nil
	}
	return nil, fmt.Errorf("a %T was queued for a client", it.Put)
}

// envelope is the frame of an action, made once for everybody of a dialect and
// audience (DESIGN promise 5).
func (s *socket) envelope(e *hub.Envelope) []byte {
	return e.Bytes(s.tongue.key, s.tongue.encode)
}

// encodeEnvelope returns nil when the dialect has no word for the action.
func encodeEnvelope(d *dialect.Dialect, e *hub.Envelope) []byte {
	a, ok := spoken(d, e)
	if !ok {
		return nil
	}
	b, err := actionFrame(ahp.ActionEnvelope{Channel: e.Channel.URI, Action: a, ServerSeq: e.Seq,
		Origin: e.Origin, RejectionReason: e.Rejection})
	if err != nil {
		return nil // its like was decoded, reduced and journaled before
	}
	return b
}

// spoken is the action in the dialect. A refusal always comes: who waits for it
// knows what it sent by the number.
func spoken(d *dialect.Dialect, e *hub.Envelope) (ahp.Action, bool) {
	if !d.Rewrites() {
		return e.Action, e.Origin != nil || d.Knows(e.Action.ActionType())
	}
	if _, unknown := e.Action.(*ahp.UnknownAction); unknown || d.Same(e.Action.ActionType()) {
		return e.Action, true // an unknown one goes back as its client sent it
	}
	raw, err := ahp.MarshalAction(e.Action)
	if err != nil {
		return nil, false
	}
	down, ok := d.DownAction(dialect.Context{Resource: e.Channel.URI, Session: e.Channel.Session}, raw)
	if !ok && e.Rejection == "" {
		return nil, false
	}
	if !ok {
		down = raw
	}
	return &ahp.UnknownAction{Type: e.Action.ActionType(), Raw: down}, true
}

// An action is the notification "action" whose params are the envelope; they
// lie between these two in the frame.
const (
	actionHead = `{"jsonrpc":"2.0","method":"action","params":`
	actionTail = `}`
)

func actionFrame(e ahp.ActionEnvelope) ([]byte, error) {
	b, err := ahp.AppendJSON([]byte(actionHead), e)
	return append(b, actionTail...), err
}

func encodeNotification(d *dialect.Dialect, n *hub.Notification) []byte {
	b, err := ahp.Marshal(n.Params)
	if err == nil {
		b, err = d.DownNotification(dialect.Context{Resource: n.Channel}, n.Method, b)
	}
	if err != nil || b == nil {
		return nil
	}
	return jsonrpc.AppendNotification(nil, n.Method, b)
}
