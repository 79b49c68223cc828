package host

import (
	"context"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
)

// Attachments that refer to other channels: threads of annotations, and other chats.

func checkAttachment(r *core.Request, a ahp.MessageAttachment) string {
	switch a.Value.(type) {
	case *ahp.MessageAnnotationsAttachment, *ahp.MessageChatAttachment:
		if !r.Caller.Scope.IsWhole() { // the agent could reveal their content
			return notShared
		}
	}
	switch v := a.Value.(type) {
	case *ahp.MessageAnnotationsAttachment:
		return checkAnnotationsAttachment(r, v)
	case *ahp.MessageChatAttachment:
		return checkChatAttachment(r, v)
	}
	return ""
}

// checkAnnotationsAttachment accepts only existing threads of the same session.
func checkAnnotationsAttachment(r *core.Request, v *ahp.MessageAnnotationsAttachment) string {
	if v.Resource != core.AnnotationsURI(r.Info.Session) {
		return "only the annotations of this session can be attached"
	}
	s, _ := hub.StateOf[*ahp.AnnotationsState](r.Tx, v.Resource)
	for _, id := range v.AnnotationIDs {
		if s == nil || threads.FindThread(s, id) < 0 {
			return "there is no annotation " + id + ". It may have been removed"
		}
	}
	return ""
}

// checkChatAttachment accepts only a chat of the same session, up to a completed turn (AHP
// requirements 99 and 100).
func checkChatAttachment(r *core.Request, v *ahp.MessageChatAttachment) string {
	info, _ := r.Tx.Info(v.Resource)
	s, ok := hub.StateOf[*ahp.ChatState](r.Tx, v.Resource)
	if !ok || info.Session != r.Info.Session {
		return "only chats of this session can be attached"
	}
	if v.EndTurn != "" && core.TurnIndex(s, v.EndTurn) < 0 {
		return "endTurn: " + v.EndTurn + " is not a completed turn of that chat"
	}
	return ""
}

// wakeAttachments loads the channels that an action's message refers to, so that they can be
// checked under the lock. The check rejects channels that failed to load.
func (h *Host) wakeAttachments(ctx context.Context, session ahp.URI, a ahp.Action) {
	var m *ahp.Message
	switch a := a.(type) {
	case *ahp.ChatTurnStartedAction:
		m = &a.Message
	case *ahp.ChatPendingMessageSetAction:
		m = &a.Message
	case *ahp.ChatDraftChangedAction:
		m = a.Draft
	}
	if m == nil {
		return
	}
	for _, uri := range attachedChannels(*m) {
		if info, known := h.core.Hub.Info(uri); known && info.Session == session {
			_ = h.core.Ensure(ctx, uri)
		}
	}
}

// attachedChannels returns the channels whose threads or chats are attached to a message.
func attachedChannels(m ahp.Message) (uris []ahp.URI) {
	for _, a := range m.Attachments {
		switch v := a.Value.(type) {
		case *ahp.MessageAnnotationsAttachment:
			uris = append(uris, v.Resource)
		case *ahp.MessageChatAttachment:
			uris = append(uris, v.Resource)
		}
	}
	return uris
}

// threads returns the annotations attached to a message, in the channel's order. An attachment
// without ids selects all open ones.
func (l *sessionRuntime) threads(ctx context.Context, m ahp.Message) (list []ahp.Annotation) {
	for _, a := range m.Attachments {
		v, ok := a.Value.(*ahp.MessageAnnotationsAttachment)
		if !ok || l.h.core.Ensure(ctx, v.Resource) != nil {
			continue
		}
		s, _ := hub.StateOf[*ahp.AnnotationsState](l.h.core.Hub, v.Resource)
		if s == nil {
			continue
		}
		for _, t := range s.Annotations {
			if slices.Contains(v.AnnotationIDs, t.ID) || len(v.AnnotationIDs) == 0 && !t.Resolved {
				list = append(list, t)
			}
		}
	}
	return list
}

// resolve replaces attached chats by their transcripts for the agent (AHP requirement 98).
// Attachments of their messages are not resolved (101).
func (l *sessionRuntime) resolve(ctx context.Context, m ahp.Message) ahp.Message {
	if !slices.ContainsFunc(m.Attachments, isChat) {
		return m
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i, a := range m.Attachments {
		v, ok := a.Value.(*ahp.MessageChatAttachment)
		if !ok || l.h.core.Ensure(ctx, v.Resource) != nil {
			continue
		}
		if s, ok := hub.StateOf[*ahp.ChatState](l.h.core.Hub, v.Resource); ok {
			m.Attachments[i].Value = &ahp.SimpleMessageAttachment{Label: v.Label, DisplayKind: v.DisplayKind,
				Meta: v.Meta, ModelRepresentation: transcript(s, v.EndTurn)}
		}
	}
	return m
}

func isChat(a ahp.MessageAttachment) bool {
	_, ok := a.Value.(*ahp.MessageChatAttachment)
	return ok
}

// transcript returns the messages and answers of a chat, up to a turn.
func transcript(s *ahp.ChatState, end string) string {
	var b strings.Builder
	for _, t := range s.Turns {
		b.WriteString("User:\n" + t.Message.Text + "\n\nAgent:\n")
		for _, p := range t.ResponseParts {
			if part, ok := p.Value.(*ahp.MarkdownResponsePart); ok {
				b.WriteString(part.Content.String() + "\n")
			}
		}
		b.WriteString("\n")
		if t.ID == end {
			break
		}
	}
	return b.String()
}
