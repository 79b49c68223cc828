package rpc

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// reply is an answer with a snapshot or a replay: a token that the hub's queue returns with the
// result, to be encoded in order.
type reply interface {
	frame(s *socket, it *hub.Item) ([]byte, error)
}

// write is the writer: it sends the hub's queue until the connection ends. A panic ends this connection alone.
func (s *socket) write() {
	defer func() {
		if p := recover(); p != nil {
			s.internal("", "panic", p, "stack", string(debug.Stack()))
			_ = s.out.Release() // Hold delayed the closing frame
			s.end(errBroken)
		}
	}()
	var buf []hub.Item
	for {
		items, err := s.conn.Next(s.ctx, buf[:0])
		if err == nil {
			err = s.writeBatch(items)
		}
		if err != nil {
			s.end(cmp.Or(context.Cause(s.ctx), err)) // when the hub closed the connection, its cause is the reason
			return
		}
		clear(items)
		buf = items
	}
}

// writeBatch writes the frames of one batch in few system calls.
func (s *socket) writeBatch(items []hub.Item) error {
	s.out.Hold()
	for i := range items {
		if err := s.writeItem(&items[i]); err != nil {
			s.out.Release()
			return err
		}
	}
	return s.out.Release()
}

// writeItem writes the frame of an item. Memory for a frame that is made for this connection alone
// and may be large, such as a snapshot, is taken from a quota: a client that does not read keeps it
// allocated.
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
	return s.ws.Write(context.Background(), websocket.MessageText, s.names.toClient(b))
}

// answerText estimates the length of the text in an answer that is encoded for one connection.
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

// encode returns the frame of an item; nil when it is not for this client.
func (s *socket) encode(it *hub.Item) (b []byte, err error) {
	if it.Env != nil {
		return s.envelope(it.Env), nil
	}
	if r, ok := it.Token.(reply); ok {
		onOtherStack(func() { b, err = r.frame(s, it) })
		return b, err
	}
	switch v := it.Put.(type) {
	case []byte:
		s.owed.Add(-int64(len(v)))
		return v, nil
	case exported:
		return v.bytes(s), nil
	case *hub.Notification:
		return v.Bytes(s.dialect.key, s.dialect.notify), nil
	}
	return nil, fmt.Errorf("a %T was queued for a client", it.Put)
}

// envelope returns the frame of an action, made once for all connections of a dialect and audience
// (DESIGN promise 5).
func (s *socket) envelope(e *hub.Envelope) []byte {
	return e.Bytes(s.dialect.key, s.dialect.encode)
}

// encodeEnvelope returns nil when the dialect does not have the action.
func encodeEnvelope(d *dialect.Dialect, e *hub.Envelope) []byte {
	a, ok := inDialect(d, e)
	if !ok {
		return nil
	}
	b, err := actionFrame(ahp.ActionEnvelope{Channel: e.Channel.URI, Action: a, ServerSeq: e.Seq,
		Origin: e.Origin, RejectionReason: e.Rejection})
	if err != nil {
		return nil // cannot happen: the action was decoded, reduced and journaled before
	}
	return b
}

// inDialect returns the action in the dialect. Refusals are always sent: their sender recognizes
// them by number.
func inDialect(d *dialect.Dialect, e *hub.Envelope) (ahp.Action, bool) {
	if _, unknown := e.Action.(*ahp.UnknownAction); unknown || d.Same(e.Action.ActionType()) {
		return e.Action, true // an unknown one is echoed unchanged
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

// An action is the notification "action" with the envelope as params, which is between these two in
// the frame.
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
