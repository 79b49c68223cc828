package host

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/ids"
)

// checkMessage validates a client's message to an agent and stamps its sender.
func (h *Host) checkMessage(r *core.Request, m *ahp.Message) string {
	if reason := h.checkMessageDraft(r, m); reason != "" {
		return reason
	}
	if m.Text == "" && len(m.Attachments) == 0 {
		return "this message is empty. Write something"
	}
	st := r.Stamp()
	if files.AttachesOfClient(m) {
		st.Client = r.Caller.ClientID
	}
	m.Meta = st.Write(m.Meta)
	return ""
}

// checkMessageDraft checks a message that may still be empty.
func (h *Host) checkMessageDraft(r *core.Request, m *ahp.Message) string {
	if m.Origin.Kind == "" {
		m.Origin.Kind = ahp.MessageKindUser
	}
	if m.Origin.Kind != ahp.MessageKindUser { // AHP requirement 108
		return "a client can only send messages of origin user"
	}
	if size := core.MessageBytes(m); size > h.core.Limits.MessageBytes {
		return fmt.Sprintf("this message has %d bytes; at most %d are allowed", size, h.core.Limits.MessageBytes)
	}
	m.Meta = core.KeepStamp(nil, m.Meta)
	for _, a := range m.Attachments {
		if reason := checkAttachment(r, a); reason != "" {
			return reason
		}
	}
	return ""
}

// SendAnnotations sends threads of a session to its agent: as a turn of the default chat, or while
// that is busy as a queued message or, with steer, a steering message. Without ids it sends all
// open threads. Errors contain the reason for a rejection.
func (h *Host) SendAnnotations(ctx context.Context, c core.Caller, session ahp.URI, ids []string, text string,
	steer bool) error {
	info, known := h.core.Hub.Info(session)
	if !known || h.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(info) {
		return core.NoSession(session)
	}
	annotations := core.AnnotationsURI(session)
	for _, uri := range []ahp.URI{session, annotations} {
		if err := h.Prepare(ctx, c, uri); err != nil {
			return err
		}
	}
	chat, err := h.defaultChat(ctx, session)
	if err != nil {
		return err
	}
	m := ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser},
		Attachments: []ahp.MessageAttachment{{
			Value: &ahp.MessageAnnotationsAttachment{Label: annotationsLabel(len(ids)), Resource: annotations,
				AnnotationIDs: ids}}}}
	return h.sendMessage(ctx, c, chat, m, steer)
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
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok || s.DefaultChat == "" {
		return "", core.NoSession(session)
	}
	return s.DefaultChat, h.core.Ensure(ctx, s.DefaultChat)
}

// sendMessage starts a turn. While one is running, it queues the message or steers with it. While
// the agent's machine is offline, it queues.
func (h *Host) sendMessage(ctx context.Context, c core.Caller, chat ahp.URI, m ahp.Message, steer bool) error {
	s, ok := hub.StateOf[*ahp.ChatState](h.core.Hub, chat)
	var a ahp.Action = &ahp.ChatTurnStartedAction{TurnID: ids.New(), Message: m}
	if ok && (s.ActiveTurn != nil || h.IsOffline(chat)) {
		kind := ahp.PendingMessageKindQueued
		if steer && s.ActiveTurn != nil {
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
		return core.NoChannel(chat)
	case o.Rejected != "":
		return ahp.Errorf(ahp.CodeInvalidParams, "%s", o.Rejected)
	}
	return nil
}

// IsOffline reports whether the machine of a chat's agent is offline. Queued messages are sent once
// it is online.
func (h *Host) IsOffline(chat ahp.URI) bool {
	info, known := h.core.Hub.Info(chat)
	if !known {
		return false
	}
	session, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, info.Session)
	return ok && h.agents.IsOffline(session.Provider)
}

// Steers reports whether a chat's agent accepts steering messages in its running turn. Otherwise
// they wait for the next turn.
func (h *Host) Steers(chat ahp.URI) bool {
	info, known := h.core.Hub.Info(chat)
	return known && h.turns.findSteerable(info) != nil
}
