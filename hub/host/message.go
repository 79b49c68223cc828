package host

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// message checks what a client wants said to an agent, and stamps who says it.
func (r *request) message(m *ahp.Message) string {
	if reason := r.draft(m); reason != "" {
		return reason
	}
	if m.Text == "" && len(m.Attachments) == 0 {
		return "this message is empty: write something"
	}
	st := r.stamp()
	if attachesOfClient(m) {
		st.Client = r.caller.ClientID
	}
	m.Meta = st.write(m.Meta)
	return ""
}

// draft checks a message that may still be empty.
func (r *request) draft(m *ahp.Message) string {
	if m.Origin.Kind == "" {
		m.Origin.Kind = ahp.MessageKindUser
	}
	if m.Origin.Kind != ahp.MessageKindUser { // AHP requirement 108
		return "a client can only send messages of origin user"
	}
	if size := messageBytes(m); size > r.h.cfg.Limits.MessageBytes {
		return fmt.Sprintf("this message has %d bytes; at most %d are allowed", size, r.h.cfg.Limits.MessageBytes)
	}
	m.Meta = keepStamp(nil, m.Meta)
	for _, a := range m.Attachments {
		if reason := r.attachment(a); reason != "" {
			return reason
		}
	}
	return ""
}

func messageBytes(m *ahp.Message) int {
	n := len(m.Text)
	for _, a := range m.Attachments {
		switch v := a.Value.(type) {
		case *ahp.MessageEmbeddedResourceAttachment:
			n += len(v.Data)
		case *ahp.SimpleMessageAttachment:
			n += len(v.ModelRepresentation)
		case *ahp.UnknownVariant:
			n += len(v.Raw)
		}
	}
	return n
}

// SendAnnotations has the agent look at threads of a session: a turn of its default chat
// with the threads attached, or while the chat is busy a message that waits for the turn's
// end or, to steer, goes into it. No ids mean all that are open. Errors say why it was
// refused.
func (h *Host) SendAnnotations(ctx context.Context, c Caller, session ahp.URI, ids []string, text string, steer bool) error {
	info, known := h.hub.Info(session)
	if !known || h.catalogue.alive(session) == nil || !c.Audience().Sees(info) {
		return noSession(session)
	}
	annotations := annotationsURI(session)
	for _, uri := range []ahp.URI{session, annotations} {
		if err := h.Prepare(ctx, c, uri); err != nil {
			return err
		}
	}
	chat, err := h.defaultChat(ctx, session)
	if err != nil {
		return err
	}
	m := ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}, Attachments: []ahp.MessageAttachment{{
		Value: &ahp.MessageAnnotationsAttachment{Label: annotationsLabel(len(ids)), Resource: annotations, AnnotationIDs: ids}}}}
	return h.say(ctx, c, chat, m, steer)
}

func annotationsLabel(n int) string {
	switch n {
	case 0:
		return "All open comments"
	case 1:
		return "1 comment"
	}
	return fmt.Sprintf("%d comments", n)
}

func (h *Host) defaultChat(ctx context.Context, session ahp.URI) (ahp.URI, error) {
	s, ok := hub.StateOf[*ahp.SessionState](h.hub, session)
	if !ok || s.DefaultChat == "" {
		return "", noSession(session)
	}
	return s.DefaultChat, h.ensure(ctx, s.DefaultChat)
}

// say starts a turn, or while one runs queues the message or steers by it.
func (h *Host) say(ctx context.Context, c Caller, chat ahp.URI, m ahp.Message, steer bool) error {
	s, ok := hub.StateOf[*ahp.ChatState](h.hub, chat)
	var a ahp.Action = &ahp.ChatTurnStartedAction{TurnID: ids.New(), Message: m}
	if ok && s.ActiveTurn != nil {
		kind := ahp.PendingMessageKindQueued
		if steer {
			kind = ahp.PendingMessageKindSteering
		}
		a = &ahp.ChatPendingMessageSetAction{Kind: kind, ID: ids.New(), Message: m}
	}
	c.Conn = nil
	o, err := h.Dispatch(ctx, c, chat, 0, a)
	switch {
	case err != nil:
		return err
	case o.Unknown:
		return noChannel(chat)
	case o.Rejected != "":
		return ahp.Errorf(ahp.CodeInvalidParams, "%s", o.Rejected)
	}
	return nil
}
