package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (ts *turns) findSteerable(ch hub.ChannelInfo) agent.Steerable {
	l := ts.findRuntime(ch.Session)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	s, ok := l.agent.(agent.Steerable)
	l.mu.Unlock()
	if !ok || !s.Steers(ch.URI) {
		return nil
	}
	return s
}

// steer passes a steering message to the running turn (AHP requirement 112). It first removes the
// message from the chat, so that the next turn does not start with it too, and puts it back if the
// agent rejects it.
func (ts *turns) steer(ctx context.Context, ch hub.ChannelInfo, id string) {
	to, l := ts.findSteerable(ch), ts.findRuntime(ch.Session)
	if to == nil || l == nil {
		return
	}
	var m *ahp.PendingMessage
	turn := ""
	err := ts.h.core.Do(ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.ChatState](tx, ch.URI)
		if !ok || s.ActiveTurn == nil || s.SteeringMessage == nil || s.SteeringMessage.ID != id {
			return
		}
		if FromGuest(s.SteeringMessage.Message) && !FromGuest(s.ActiveTurn.Message) {
			return // a guest's requests need approval, in a turn of their own
		}
		m, turn = s.SteeringMessage, s.ActiveTurn.ID
		tx.Apply(ch.URI, &ahp.ChatPendingMessageRemovedAction{Kind: ahp.PendingMessageKindSteering, ID: id})
	})
	if err != nil || m == nil {
		return
	}
	refused := to.Steer(ctx, ch.URI, l.resolve(ctx, m.Message))
	err = ts.h.core.Do(ctx, func(tx *hub.Tx) { ts.recordSteer(tx, ch, turn, m, refused) })
	if err != nil || refused != nil {
		ts.h.core.Log.Info("a steering message waits for the next turn", "chat", ch.URI, "refused", refused, "err", err)
	}
}

// recordSteer shows the message in the turn, or puts it back if it was rejected.
func (ts *turns) recordSteer(tx *hub.Tx, ch hub.ChannelInfo, turn string, m *ahp.PendingMessage, refused error) {
	s, ok := hub.StateOf[*ahp.ChatState](tx, ch.URI)
	if !ok {
		return
	}
	if refused != nil {
		if s.SteeringMessage == nil { // else a newer one was sent
			tx.Apply(ch.URI, &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindSteering, ID: m.ID,
				Message: m.Message})
			ts.startQueued(tx, ch, true)
		}
		return
	}
	if s.ActiveTurn == nil || s.ActiveTurn.ID != turn {
		return
	}
	text := "Sent to this turn: " + m.Message.Text
	if by, ok := core.ReadStamp(m.Message.Meta); ok && by.By.Name != "" {
		text = by.By.Name + " sent to this turn: " + m.Message.Text
	}
	tx.Apply(ch.URI, &ahp.ChatResponsePartAction{TurnID: turn,
		Part: ahp.ResponsePart{Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(text)}}})
}
