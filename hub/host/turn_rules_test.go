package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// AHP requirements 105 and 106: text that an agent streams before it created the part reaches no
// client.
func TestStreamsGoIntoTheirPart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			_ = turn.Out.Emit(&ahp.ChatReasoningAction{PartID: "r", Content: "too early"})
			_ = turn.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: "too early"})
			return errors.Join(
				turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.ReasoningResponsePart{ID: "r"}}}),
				turn.Out.Emit(&ahp.ChatReasoningAction{PartID: "r", Content: "hmm"}),
				turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}}}),
				turn.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: "yes"}))
		}
		c := w.create()
		c.say("go")
		part, ok := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.ReasoningResponsePart)
		if !ok || part.Content.String() != "hmm" {
			t.Errorf("the part is %+v", w.chatState().Turns[0].ResponseParts)
		}
		answer, ok := w.chatState().Turns[0].ResponseParts[1].Value.(*ahp.MarkdownResponsePart)
		if !ok || answer.Content.String() != "yes" {
			t.Errorf("the answer is %+v", w.chatState().Turns[0].ResponseParts)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		said := slices.DeleteFunc(slices.Clone(c.got), func(a string) bool {
			return a != "chat/responsePart" && a != "chat/reasoning" && a != "chat/delta"
		})
		if !slices.Equal(said, []string{"chat/responsePart", "chat/reasoning", "chat/responsePart", "chat/delta"}) {
			t.Errorf("clients were sent %q", said)
		}
	})
}

// AHP requirement 135.
func TestUnansweredQuestionStays(t *testing.T) {
	inWorld(t, func(w *world) {
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			_, err := turn.Out.Ask(ctx, form)
			return err
		}
		c := w.create()
		c.say("go")
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: w.chatState().ActiveTurn.ID})
		part, ok := w.chatState().Turns[0].ResponseParts[0].Value.(*ahp.InputRequestResponsePart)
		if !ok || part.Response != "" || part.Request.ID != "r" {
			t.Errorf("the transcript has %+v", w.chatState().Turns[0].ResponseParts)
		}
		if len(w.session().InputNeeded) != 0 {
			t.Error("the session waits for an answer nobody hears")
		}
	})
}

// AHP requirement 101.
func TestChatsAttachedInAnAttachedChatStayOut(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		for _, chat := range []ahp.URI{"ahp-chat:/2", "ahp-chat:/3"} {
			w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: chat}))
		}
		say := func(chat ahp.URI, text string, attached ...ahp.URI) {
			m := user(text)
			for _, uri := range attached {
				m.Attachments = append(m.Attachments,
					ahp.MessageAttachment{Value: &ahp.MessageChatAttachment{Label: "before", Resource: uri}})
			}
			c.do(chat, &ahp.ChatTurnStartedAction{TurnID: ids.New(), Message: m})
		}
		say(w.chat(), "innermost")
		say("ahp-chat:/2", "between", w.chat())
		say("ahp-chat:/3", "outermost", "ahp-chat:/2")
		given := w.agent.turns[2].Message.Attachments[0].Value.(*ahp.SimpleMessageAttachment).ModelRepresentation
		if !strings.Contains(given, "between") || strings.Contains(given, "innermost") {
			t.Errorf("the agent was given %q", given)
		}
	})
}
