package host

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestActivityOfAChatReachesTheLists(t *testing.T) { // AHP requirement 118
	inWorld(t, func(w *world) {
		c := w.create()
		over := make(chan struct{})
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			err := turn.Out.Emit(&ahp.ChatActivityChangedAction{Activity: "Reading"})
			<-over
			return err
		}
		c.say("go")
		synctest.Wait()
		sum, _ := w.host.Summary(session)
		if got := w.session().Chats[0].Activity; got != "Reading" || sum.Activity != "Reading" {
			t.Errorf("the session lists %q, root %q", got, sum.Activity)
		}
		close(over)
		synctest.Wait()
		c.converged()
	})
}

// An allowed call asks again while it runs, with its new input (AHP requirement 123).
func TestACallAsksAgainWhileItRuns(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		var failed error
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			_ = turn.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run"})
			for _, what := range []string{"read it", "write it"} {
				if _, err := turn.Out.Confirm(ctx, &ahp.ChatToolCallReadyAction{ToolCallID: "c",
					InvocationMessage: ahp.Plain(what)}); err != nil {
					failed = err
				}
			}
			return failed
		}
		c.say("go")
		synctest.Wait()
		for _, what := range []string{"read it", "write it"} {
			part, _ := w.chatState().ActiveTurn.ResponseParts.At(0).Value.(*ahp.ToolCallResponsePart)
			call, ok := part.ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
			if !ok || call.InvocationMessage != ahp.Plain(what) {
				t.Fatalf("to %s it is %+v", what, part.ToolCall.Value)
			}
			c.do(w.chat(), &ahp.ChatToolCallConfirmedAction{TurnID: w.chatState().ActiveTurn.ID, ToolCallID: "c",
				Approved: true, Confirmed: "user-action"})
			synctest.Wait()
		}
		if failed != nil || w.chatState().ActiveTurn != nil {
			t.Errorf("the turn goes on: %v", failed)
		}
		c.converged()
	})
}

// A session's _meta is not part of its summary (AHP requirement 64).
func TestSummaryHasNoMeta(t *testing.T) {
	e := &core.Entry{}
	// AHP requirement 64
	if updateSummary(e, &ahp.SessionState{Meta: ahp.Meta{"x/other": json.RawMessage(`{"a":1}`)}}); len(
		e.Summary.Meta) != 0 {
		t.Errorf("the summary carries %s", e.Summary.Meta)
	}
}
