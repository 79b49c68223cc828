package host

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func answered(state ahp.ChatInputAnswerState, v ahp.ChatInputAnswerValueValue) ahp.ChatInputAnswer {
	return ahp.ChatInputAnswer{Value: &ahp.ChatInputAnswered{State: state, Value: ahp.ChatInputAnswerValue{Value: v}}}
}

func submitted(v ahp.ChatInputAnswerValueValue) ahp.ChatInputAnswer {
	return answered(ahp.ChatInputAnswerStateSubmitted, v)
}

var form = ahp.ChatInputRequest{ID: "r", Questions: []ahp.ChatInputQuestion{
	{Value: &ahp.ChatInputTextQuestion{ID: "text", Message: "Name?", Required: ahp.Ptr(true), Max: ahp.Ptr(int64(5))}},
	{Value: &ahp.ChatInputNumberQuestion{ID: "whole", Kind: ahp.ChatInputNumberKindInteger, Message: "How many?",
		Max: ahp.Ptr(9.0)}},
	{Value: &ahp.ChatInputBooleanQuestion{ID: "yes", Message: "Sure?"}},
	{Value: &ahp.ChatInputSingleSelectQuestion{ID: "one", Message: "Which?",
		Options: []ahp.ChatInputOption{{ID: "a", Label: "A"}}}},
	{Value: &ahp.ChatInputMultiSelectQuestion{ID: "some", Message: "Which ones?", AllowFreeformInput: ahp.Ptr(true),
		Max:     ahp.Ptr(int64(2)),
		Options: []ahp.ChatInputOption{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}}},
}}

func TestInput(t *testing.T) { // AHP requirements 129 to 131
	inWorld(t, func(w *world) {
		var heard *ahp.ChatInputCompletedAction
		over := make(chan struct{})
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) (err error) {
			heard, err = turn.Out.Ask(ctx, form)
			<-over
			return err
		}
		c := w.create()
		c.do(session, &ahp.SessionIsReadChangedAction{IsRead: true})
		c.say("go")
		if w.session().Status.Has(ahp.SessionStatusIsRead) {
			t.Error("a question leaves the session read") // AHP requirement 116
		}
		states := func(want ahp.SessionStatus) {
			t.Helper()
			sum, _ := w.host.Summary(session)
			if got := w.chatState().Status.Activity(); got != want || sum.Status.Activity() != want {
				t.Errorf("the chat's status is %d, the session's %d, want %d", got, sum.Status.Activity(), want)
			}
		}
		states(ahp.SessionStatusInputNeeded)
		c.do(w.chat(), &ahp.ChatInputAnswerChangedAction{RequestID: "r", QuestionID: "text",
			Answer: ahp.Ptr(submitted(&ahp.ChatInputTextAnswerValue{Value: "Ana"}))})
		if r := w.session().InputNeeded[0].Value.(*ahp.SessionChatInputRequest); len(r.Request.Answers) != 1 ||
			r.Request.ID != "r" || r.Chat != w.chat() { // AHP requirement 77
			t.Errorf("the mirrored request is %+v in %s", r.Request, r.Chat)
		}
		c.do(w.chat(), &ahp.ChatInputCompletedAction{RequestID: "r", Response: ahp.ChatInputResponseKindAccept,
			Answers: map[string]ahp.ChatInputAnswer{"yes": submitted(&ahp.ChatInputBooleanAnswerValue{Value: true})}})
		if heard == nil || heard.Response != ahp.ChatInputResponseKindAccept || len(heard.Answers) != 2 {
			t.Fatalf("the agent heard %+v", heard)
		}
		if len(w.session().InputNeeded) != 0 {
			t.Error("inputNeeded stays after the answer")
		}
		states(ahp.SessionStatusInProgress)
		close(over)
		synctest.Wait()
		states(ahp.SessionStatusIdle)
		part, ok := core.LastTurn(w.chatState()).ResponseParts[0].Value.(*ahp.InputRequestResponsePart)
		if !ok || part.Response != ahp.ChatInputResponseKindAccept || len(part.Request.Answers) != 2 {
			t.Errorf("the transcript has %+v", core.LastTurn(w.chatState()).ResponseParts)
		}
		c.converged()
	})
}

func TestInvalidAnswersAreRefused(t *testing.T) { // AHP requirements 132 to 134
	inWorld(t, func(w *world) {
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			_, err := turn.Out.Ask(ctx, form)
			return err
		}
		c := w.create()
		c.say("go")
		text, number := &ahp.ChatInputTextAnswerValue{Value: "x"}, &ahp.ChatInputNumberAnswerValue{Value: 1}
		for _, tc := range []struct {
			question string
			answer   ahp.ChatInputAnswer
			says     string
		}{
			{"nobody", submitted(text), "no question"},
			{"text", submitted(number), "asks for text"},
			{"text", submitted(&ahp.ChatInputTextAnswerValue{Value: "too long"}), "at most 5"},
			{"whole", submitted(text), "asks for a number"},
			{"whole", submitted(&ahp.ChatInputNumberAnswerValue{Value: 1.5}), "whole number"},
			{"whole", submitted(&ahp.ChatInputNumberAnswerValue{Value: 10}), "at most 9"},
			{"yes", submitted(text), "yes or no"},
			{"one", submitted(text), "one of its options"},
			{"one", submitted(&ahp.ChatInputSelectedAnswerValue{Value: "z"}), "no option"},
			{"one", submitted(&ahp.ChatInputSelectedAnswerValue{Value: "a", FreeformValues: []string{"mine"}}),
				"no other text"},
			{"some", submitted(&ahp.ChatInputSelectedAnswerValue{Value: "a"}), "some of its options"},
			{"some", submitted(&ahp.ChatInputSelectedManyAnswerValue{Value: []string{"a", "b"},
				FreeformValues: []string{"c"}}), "at most 2"},
			{"text", ahp.ChatInputAnswer{Value: &ahp.UnknownVariant{}}, "draft, submitted or skipped"},
			{"text", ahp.ChatInputAnswer{Value: &ahp.ChatInputAnswered{State: ahp.ChatInputAnswerStateDraft}},
				"asks for text"},
		} {
			c.refused(w.chat(), &ahp.ChatInputAnswerChangedAction{RequestID: "r", QuestionID: tc.question,
				Answer: &tc.answer}, tc.says)
			c.refused(w.chat(), &ahp.ChatInputCompletedAction{RequestID: "r", Response: ahp.ChatInputResponseKindAccept,
				Answers: map[string]ahp.ChatInputAnswer{tc.question: tc.answer}}, tc.says)
		}
		for question, answer := range map[string]ahp.ChatInputAnswer{
			"text":  answered(ahp.ChatInputAnswerStateDraft, &ahp.ChatInputTextAnswerValue{Value: "still typing"}),
			"whole": {Value: &ahp.ChatInputSkipped{}},
			"some": submitted(&ahp.ChatInputSelectedManyAnswerValue{Value: []string{"a"},
				FreeformValues: []string{"c"}}),
		} {
			c.do(w.chat(), &ahp.ChatInputAnswerChangedAction{RequestID: "r", QuestionID: question, Answer: &answer})
		}
		accept := &ahp.ChatInputCompletedAction{RequestID: "r", Response: ahp.ChatInputResponseKindAccept}
		c.refused(w.chat(), accept, `"Name?" needs an answer`)
		c.refused(w.chat(), &ahp.ChatInputCompletedAction{RequestID: "r", Response: "perhaps"},
			"accept, decline or cancel")
		c.refused(w.chat(), &ahp.ChatInputCompletedAction{RequestID: "x", Response: ahp.ChatInputResponseKindCancel},
			"already answered")
		c.do(w.chat(), &ahp.ChatInputCompletedAction{RequestID: "r", Response: ahp.ChatInputResponseKindDecline})
		c.refused(w.chat(), accept, "already answered")
		c.converged()
	})
}
