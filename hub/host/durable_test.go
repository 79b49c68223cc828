package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// disk makes the hub's pending records durable.
func (w *world) disk() {
	w.t.Helper()
	synctest.Wait()
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Millisecond)
		b, err := w.hub.Unjournaled(ctx)
		cancel()
		if err != nil {
			return
		}
		w.hub.Durable(b.Upto, 0)
		synctest.Wait()
	}
}

func journaled(t *testing.T, f func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{}, hub.Config{Journal: true, Boot: hub.Boot{Reserved: 1 << 40}})
		defer w.stop()
		f(w)
	})
}

func TestNothingRunsBeforeItsCauseIsOnDisk(t *testing.T) {
	journaled(t, func(w *world) {
		me := core.Caller{Principal: owner}
		w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: session}))
		synctest.Wait()
		if w.agent.spec.Session != "" {
			t.Fatal("the agent was opened for a session that a crash would forget")
		}
		w.disk()
		_, err := w.host.Dispatch(w.t.Context(), me, w.chat(), 0, started("rm -rf build"))
		w.must(err)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(w.agent.prompts()) != 0 {
			t.Fatal("the agent was asked before the message was on disk")
		}
		w.disk()
		if got := w.agent.prompts(); len(got) != 1 {
			t.Fatalf("the agent was asked %v", got)
		}
	})
}

func TestAgentsPauseWhileTheDiskIsFull(t *testing.T) {
	journaled(t, func(w *world) {
		spoken := make(chan error, 1)
		speak := make(chan struct{})
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			<-speak
			err := turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p", Content: ahp.NewText("kept")}}})
			spoken <- err
			return err
		}
		me := core.Caller{Principal: owner}
		w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: session}))
		w.disk()
		_, err := w.host.Dispatch(w.t.Context(), me, w.chat(), 0, started("go"))
		w.must(err)
		w.disk()
		w.hub.JournalFailed(errors.New("no space left on device"))
		close(speak)
		time.Sleep(time.Minute)
		select {
		case err := <-spoken:
			t.Fatalf("the agent went on: %v", err)
		default:
		}
		o, err := w.host.Dispatch(w.t.Context(), me, session, 0, &ahp.SessionTitleChangedAction{Title: "x"})
		if !errors.Is(err, hub.ErrReadOnly) || o.Env != nil {
			t.Errorf("a read-only host answers %+v, %v", o, err)
		}
		if err := w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: "fake:/2"}); !errors.Is(err,
			hub.ErrReadOnly) {
			t.Errorf("a read-only host made a session: %v", err)
		}
		w.hub.JournalBack()
		time.Sleep(time.Second)
		w.disk()
		if err := <-spoken; err != nil {
			t.Fatal(err)
		}
		if turn := core.LastTurn(w.chatState()); turn == nil || len(turn.ResponseParts) != 1 {
			t.Errorf("what the agent said is lost: %+v", turn)
		}
	})
}

func TestClientLeavesWhileDiskIsFull(t *testing.T) { // AHP requirement 138
	journaled(t, func(w *world) {
		c := w.connect(owner, "ana-1")
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session,
			ActiveClient: &ahp.SessionActiveClient{ClientID: "ana-1"}}))
		w.disk()
		w.hub.JournalFailed(errors.New("no space left on device"))
		w.host.Disconnected(c.caller)
		time.Sleep(time.Minute)
		w.hub.JournalBack()
		time.Sleep(time.Second)
		w.disk()
		if n := len(w.session().ActiveClients); n != 0 {
			t.Errorf("%d clients are listed", n)
		}
	})
}
