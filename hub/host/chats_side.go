package host

import (
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// A side chat starts empty. With the first message, its agent gets the source chat's transcript, up
// to a turn that may be running (AHP requirement 95).

// startSideChat checks the source of a side chat and sets the chat's origin (AHP requirements 91,
// 92 and 94).
func (h *Host) startSideChat(tx *hub.Tx, s *ahp.SessionState, to *ahp.ChatState, src *ahp.SideChatSource) error {
	many := h.agents.Info(s.Provider).Capabilities.MultipleChats
	if many.SideChat == nil || !*many.SideChat {
		return core.BadParams("source: the agent of this session has no side chats")
	}
	from, ok := hub.StateOf[*ahp.ChatState](tx, src.Chat)
	if !ok {
		return core.BadParams("source: there is no chat %s in this session", src.Chat)
	}
	parts, ok := partsOf(from, src.TurnID)
	if !ok {
		return core.BadParams("source: there is no turn %s in that chat", src.TurnID)
	}
	if sel := src.Selection; sel != nil {
		if sel.Text == "" {
			return core.BadParams("source.selection: it has no text")
		}
		if sel.ResponsePartID != "" &&
			!slices.ContainsFunc(parts, func(p ahp.ResponsePart) bool { return partID(p) == sel.ResponsePartID }) {
			return core.BadParams("source.selection: there is no part %s in that turn", sel.ResponsePartID)
		}
	}
	to.Origin = &ahp.ChatOrigin{Value: &ahp.ChatOriginSideChat{Chat: src.Chat, TurnID: src.TurnID,
		Selection: src.Selection}}
	if to.Title == chatTitle(len(s.Chats), nil) {
		to.Title = texts.CutBytes("Side chat of "+from.Title, core.MaxTitle)
	}
	return nil
}

// partsOf returns the response parts of an ended or running turn.
func partsOf(s *ahp.ChatState, turn string) ([]ahp.ResponsePart, bool) {
	if i := core.TurnIndex(s, turn); i >= 0 {
		return s.Turns[i].ResponseParts, true
	}
	if s.ActiveTurn != nil && s.ActiveTurn.ID == turn {
		return s.ActiveTurn.ResponseParts.Slice(), true
	}
	return nil, false
}

func partID(p ahp.ResponsePart) string {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return v.ID
	case *ahp.ReasoningResponsePart:
		return v.ID
	}
	return ""
}

// withSideChatSource adds the source's transcript to the first message of a side chat.
func (l *sessionRuntime) withSideChatSource(s *ahp.ChatState, m ahp.Message) ahp.Message {
	if s.Origin == nil || len(s.Turns) > 0 {
		return m
	}
	o, ok := s.Origin.Value.(*ahp.ChatOriginSideChat)
	if !ok || l.h.core.Ensure(l.ctx, o.Chat) != nil {
		return m
	}
	from, ok := hub.StateOf[*ahp.ChatState](l.h.core.Hub, o.Chat)
	if !ok {
		return m
	}
	m.Attachments = append(slices.Clone(m.Attachments), ahp.MessageAttachment{Value: &ahp.SimpleMessageAttachment{
		Label: from.Title, DisplayKind: "chat", ModelRepresentation: sideTranscript(from, o)}})
	return m
}

// sideTranscript returns the transcript up to the turn, the partial answer of a running turn, and the selected
// text.
func sideTranscript(from *ahp.ChatState, o *ahp.ChatOriginSideChat) string {
	var b strings.Builder
	b.WriteString(transcript(from, o.TurnID))
	if a := from.ActiveTurn; a != nil && a.ID == o.TurnID {
		b.WriteString(transcript(&ahp.ChatState{Turns: []*ahp.Turn{{ID: a.ID, Message: a.Message,
			ResponseParts: a.ResponseParts.Slice()}}}, ""))
	}
	if o.Selection != nil {
		b.WriteString("\nSelected:\n" + o.Selection.Text + "\n")
	}
	return b.String()
}
