package host

import (
	"errors"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/redact"
)

// hider redacts secrets from an agent's output in a turn. Text arrives in pieces: a possible
// beginning of a secret is held back until the next piece, or the next action of another kind.
type hider struct {
	mu     sync.Mutex
	stream *redact.Stream
	part   string
	more   func(text string) ahp.Action // makes an action of held text; nil: nothing was streamed
}

// emit applies an action after redacting the session's secrets.
func (o *out) emit(a ahp.Action, apply func(ahp.Action) error) error {
	set := o.l.h.secrets.Hidden(o.l.uri)
	if set == nil {
		return apply(a)
	}
	hide := &o.r.hider
	hide.mu.Lock()
	defer hide.mu.Unlock()
	if !o.fill(a) {
		return errNotForChat
	}
	if id, text, with := streamed(a); with != nil {
		if hide.more == nil || hide.part != id {
			if err := hide.flush(apply); err != nil {
				return err
			}
			hide.stream, hide.part = set.NewStream(), id
		}
		hide.more = moreOf(a)
		shown := string(hide.stream.Write([]byte(text)))
		if _, opens := a.(*ahp.ChatResponsePartAction); shown == "" && text != "" && !opens {
			return nil
		}
		return apply(with(shown))
	}
	if err := hide.flush(apply); err != nil {
		return err
	}
	shown, err := withoutSecrets(set, a)
	if err != nil {
		return err
	}
	return apply(shown)
}

// flushHidden sends the held text at the end of a turn.
func (o *out) flushHidden() {
	o.r.hider.mu.Lock()
	defer o.r.hider.mu.Unlock()
	_ = o.r.hider.flush(func(a ahp.Action) error { return o.applyShown(a) }) // fails if the turn has ended
}

// flush sends the held text. h.mu is held.
func (h *hider) flush(apply func(ahp.Action) error) error {
	if h.more == nil {
		return nil
	}
	rest, more := h.stream.Close(), h.more
	h.stream, h.part, h.more = nil, "", nil
	if len(rest) == 0 {
		return nil
	}
	return apply(more(string(rest)))
}

// streamed returns the text of an action that starts or continues a stream, and the stream's id.
// with returns the action with another text; it is nil for other actions.
func streamed(a ahp.Action) (id, text string, with func(text string) ahp.Action) {
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		return a.PartID, a.Content, func(t string) ahp.Action {
			return &ahp.ChatDeltaAction{TurnID: a.TurnID, PartID: a.PartID, Content: t, Meta: a.Meta}
		}
	case *ahp.ChatReasoningAction:
		return a.PartID, a.Content, func(t string) ahp.Action {
			return &ahp.ChatReasoningAction{TurnID: a.TurnID, PartID: a.PartID, Content: t, Meta: a.Meta}
		}
	case *ahp.ChatToolCallDeltaAction:
		if a.InvocationMessage != nil {
			break
		}
		return a.ToolCallID, a.Content, func(t string) ahp.Action {
			return &ahp.ChatToolCallDeltaAction{TurnID: a.TurnID, ToolCallID: a.ToolCallID, Content: t, Meta: a.Meta}
		}
	case *ahp.ChatResponsePartAction:
		return streamedPart(a)
	}
	return "", "", nil
}

// streamedPart is streamed for a part that deltas continue.
func streamedPart(a *ahp.ChatResponsePartAction) (id, text string, with func(text string) ahp.Action) {
	switch p := a.Part.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return p.ID, p.Content.String(), func(t string) ahp.Action {
			own := *p
			own.Content = ahp.NewText(t)
			return &ahp.ChatResponsePartAction{TurnID: a.TurnID, Part: ahp.ResponsePart{Value: &own}, Meta: a.Meta}
		}
	case *ahp.ReasoningResponsePart:
		return p.ID, p.Content.String(), func(t string) ahp.Action {
			own := *p
			own.Content = ahp.NewText(t)
			return &ahp.ChatResponsePartAction{TurnID: a.TurnID, Part: ahp.ResponsePart{Value: &own}, Meta: a.Meta}
		}
	}
	return "", "", nil
}

// moreOf returns a function that makes the next action of a stream.
func moreOf(a ahp.Action) func(text string) ahp.Action {
	_, _, with := streamed(a)
	part, begins := a.(*ahp.ChatResponsePartAction)
	if !begins {
		return with
	}
	switch p := part.Part.Value.(type) {
	case *ahp.ReasoningResponsePart:
		return func(t string) ahp.Action { return &ahp.ChatReasoningAction{PartID: p.ID, Content: t} }
	case *ahp.MarkdownResponsePart:
		return func(t string) ahp.Action { return &ahp.ChatDeltaAction{PartID: p.ID, Content: t} }
	}
	return with
}

// withoutSecrets returns a redacted copy of an action, or a itself if it has no secrets.
func withoutSecrets(set *redact.Set, a ahp.Action) (ahp.Action, error) {
	raw, err := ahp.MarshalAction(a)
	if err != nil {
		return nil, err
	}
	clean, err := set.JSON(raw)
	if clean == nil {
		return a, err
	}
	shown, err := ahp.UnmarshalAction(clean)
	if err != nil {
		return nil, errors.New("this holds a secret where it cannot be hidden, so it is not shown")
	}
	return shown, nil
}
