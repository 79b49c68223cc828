package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (ts *turns) findSteerable(ch hub.ChannelInfo) agent.Steerable {
	l := ts.liveIf(ch.Session)
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

// steer hands a steering message to the turn that runs (AHP requirement 112). The message is taken from the others
// first, so that no next turn begins with it as well; one that the agent does not take waits again.
func (ts *turns) steer(ctx context.Context, ch hub.ChannelInfo, id string) {
	to, l := ts.findSteerable(ch), ts.liveIf(ch.Session)
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
			return // what a guest asks for is asked about in a turn of its own
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

// recordSteer notes in the turn what was said into it, or has the message wait again.
func (ts *turns) recordSteer(tx *hub.Tx, ch hub.ChannelInfo, turn string, m *ahp.PendingMessage, refused error) {
	s, ok := hub.StateOf[*ahp.ChatState](tx, ch.URI)
	if !ok {
		return
	}
	if refused != nil {
		if s.SteeringMessage == nil { // else another one was sent meanwhile
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
