package host

import (
	"errors"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
)

// errTurnFull ends a turn whose text exceeds the limit.
var errTurnFull = errors.New("this turn has reached the maximum length")

// addText adds an action's text to its turn's total. Above the limit, it ends the turn with an
// error and keeps the text so far.
func (o *out) addText(a ahp.Action) error {
	if o.r.text.Add(int64(countText(a))) <= int64(o.l.h.core.Limits.TurnBytes) {
		return nil
	}
	o.r.cancel(errTurnFull)
	return errTurnFull
}

// countText returns the bytes that an action adds to a turn. The output of a running tool call is
// not counted, as the result replaces it.
func countText(a ahp.Action) int {
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		return len(a.Content)
	case *ahp.ChatReasoningAction:
		return len(a.Content)
	case *ahp.ChatToolCallDeltaAction:
		return len(a.Content)
	case *ahp.ChatResponsePartAction:
		return partText(a.Part)
	case *ahp.ChatToolCallReadyAction:
		if a.ToolInput != nil {
			return len(a.ToolInput.Text)
		}
	case *ahp.ChatToolCallCompleteAction:
		return contentText(a.Result.Content)
	}
	return 0
}

// partText returns the bytes of text in a part of an answer.
func partText(p ahp.ResponsePart) int {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return v.Content.Len()
	case *ahp.ReasoningResponsePart:
		return v.Content.Len()
	case *ahp.ToolCallResponsePart:
		if done, ok := v.ToolCall.Value.(*ahp.ToolCallCompletedState); ok {
			return contentText(done.Content)
		}
	}
	return 0
}

func contentText(list []ahp.ToolResultContent) (n int) {
	for _, c := range list {
		switch v := c.Value.(type) {
		case *ahp.ToolResultTextContent:
			n += len(v.Text)
		case *ahp.ToolResultEmbeddedResourceContent:
			n += len(v.Data)
		}
	}
	return n
}

// turnText returns the bytes of text in a turn.
func turnText(parts []ahp.ResponsePart) (n int) {
	for _, p := range parts {
		n += partText(p)
	}
	return n
}

// ChatText returns the bytes of text in a chat.
func ChatText(s *ahp.ChatState) (n int) {
	for _, t := range s.Turns {
		n += len(t.Message.Text) + turnText(t.ResponseParts)
	}
	if s.ActiveTurn != nil {
		n += turnText(s.ActiveTurn.ResponseParts.Slice())
	}
	return n
}

// checkRoom returns why a chat accepts no further turns, or "".
func (ts *turns) checkRoom(s *ahp.ChatState) string {
	n := ChatText(s)
	if n < ts.h.core.Limits.ChatBytes {
		return ""
	}
	return fmt.Sprintf("this chat holds %d MiB of text, as much as a chat may: start another chat, or fork this one "+
		"at an earlier turn", n>>20)
}
