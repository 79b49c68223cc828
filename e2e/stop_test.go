package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Stopping does not wait for agents to finish, and an interrupted turn says so and can be resumed.
func TestStopWhileATurnRuns(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	w := dial(t, ctx, prog, prog.Token())
	session := newOverProtocol(t, ctx, w)
	chat := w.State(session).(*ahp.SessionState).DefaultChat
	if err := w.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	turn := &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), StartedAt: time.Now().UTC().Format(time.RFC3339),
		Message: ahp.Message{Text: "count 100000 50", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	if _, err := w.Dispatch(ctx, chat, turn); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		s, _ := w.Confirmed(chat)
		active := s.(*ahp.ChatState).ActiveTurn
		return active != nil && active.ResponseParts.Len() > 0
	}
	if err := w.Wait(ctx, running); err != nil {
		t.Fatal("the turn does not run:", err)
	}
	prog.Stop()
	prog.Restart()

	again := dial(t, ctx, prog, prog.Token())
	if err := again.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	s, _ := again.Confirmed(chat)
	turns := s.(*ahp.ChatState).Turns
	if len(turns) != 1 || turns[0].State != ahp.TurnStateError {
		t.Fatalf("the turn that was cut off is now %+v", turns)
	}
	parts := turns[0].ResponseParts
	last, ok := parts[len(parts)-1].Value.(*ahp.ErrorResponsePart)
	if !ok || last.Resumable == nil || !*last.Resumable || last.Error.Message == "" {
		t.Errorf("its last part is %+v", parts[len(parts)-1].Value)
	}
}
