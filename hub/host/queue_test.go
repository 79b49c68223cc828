package host

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func queued(id, text string) *ahp.ChatPendingMessageSetAction {
	return &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: id, Message: user(text)}
}

func TestQueueRunsInOrder(t *testing.T) { // AHP requirements 109, 111
	inWorld(t, func(w *world) {
		release := hold(w)
		c := w.create()
		c.say("zero")
		for _, id := range []string{"one", "two", "three"} {
			c.do(w.chat(), queued(id, id))
		}
		c.do(w.chat(), &ahp.ChatQueuedMessagesReorderedAction{Order: []string{"three", "nobody", "one"}})
		c.news()
		release(nil)
		got := c.news()
		removed, next := slices.Index(got, "chat/pendingMessageRemoved"), slices.Index(got, "chat/turnStarted")
		if removed < 0 || next < removed {
			t.Errorf("subscribers heard %v", got)
		}
		if id := w.lastStarted().QueuedMessageID; id != "three" {
			t.Errorf("the turn names the queued message %q, want three", id)
		}
		for range 3 {
			release(nil)
		}
		if got := w.agent.prompts(); !slices.Equal(got, []string{"zero", "three", "one", "two"}) {
			t.Errorf("the agent was asked %v", got)
		}
		if by, ok := core.ReadStamp(core.LastTurn(w.chatState()).Message.Meta); !ok || by.By.Name != "Ana" {
			t.Errorf("a queued message lost its author: %+v", by)
		}
		c.converged()
	})
}

// A queued message does not reach the agent if the budget is used up. Its turn ends with an error
// with the reason.
func TestQueuedMessageRespectsBudget(t *testing.T) {
	var full atomic.Bool
	budget := func(person string, _ ahp.URI) string {
		if full.Load() {
			return "the budget of " + person + " is used up"
		}
		return ""
	}
	inWorldOf(t, Config{Budget: budget}, func(w *world) {
		release := hold(w)
		c := w.create()
		c.say("zero")
		c.do(w.chat(), queued("one", "one"))
		full.Store(true)
		c.refused(w.chat(), queued("two", "two"), "the budget of owner is used up")
		release(nil)
		if got := w.agent.prompts(); !slices.Equal(got, []string{"zero"}) {
			t.Errorf("the agent was asked %v", got)
		}
		last := core.LastTurn(w.chatState())
		part, ok := last.ResponseParts[len(last.ResponseParts)-1].Value.(*ahp.ErrorResponsePart)
		if !ok || part.Error.Message != "the budget of owner is used up, then resume." || !*part.Resumable {
			t.Errorf("the queued turn ended with %+v", last.ResponseParts)
		}
	})
}

// lastStarted returns the newest action that started a turn.
func (w *world) lastStarted() *ahp.ChatTurnStartedAction {
	w.t.Helper()
	for _, e := range slices.Backward(w.said) {
		if a, ok := e.Action.(*ahp.ChatTurnStartedAction); ok {
			return a
		}
	}
	w.t.Fatal("no turn was started")
	return nil
}

func TestQueuedWhileIdleStartsAtOnce(t *testing.T) { // AHP requirement 110
	inWorld(t, func(w *world) {
		c := w.create()
		c.news()
		c.do(w.chat(), queued("q", "now"))
		got := c.news()
		removed, next := slices.Index(got, "chat/pendingMessageRemoved"), slices.Index(got, "chat/turnStarted")
		if removed < 0 || next < removed || w.lastStarted().QueuedMessageID != "q" {
			t.Errorf("subscribers heard %v, the turn names %q", got, w.lastStarted().QueuedMessageID)
		}
		if s := w.chatState(); len(s.QueuedMessages) != 0 || len(s.Turns) != 1 || s.Turns[0].Message.Text != "now" {
			t.Errorf("the chat is %+v", s)
		}
		c.converged()
	})
}

func TestQueueContinuesAfterFailureAndCancel(t *testing.T) { // AHP requirement 109
	inWorld(t, func(w *world) {
		release := hold(w)
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("first")})
		c.do(w.chat(), queued("a", "second"))
		c.do(w.chat(), queued("b", "third"))
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "t"})
		release(errTurnOver)
		release(nil)
		if got := w.agent.prompts(); !slices.Equal(got, []string{"first", "second", "third"}) {
			t.Errorf("the agent was asked %v", got)
		}
	})
}

func TestSteering(t *testing.T) { // AHP requirement 112
	steer := func(text string) *ahp.ChatPendingMessageSetAction {
		return &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindSteering, ID: text, Message: user(text)}
	}
	inWorld(t, func(w *world) {
		c := w.create()
		c.do(w.chat(), steer("early"))
		if s := w.chatState(); s.SteeringMessage == nil || len(s.Turns) != 0 {
			t.Fatalf("a steering message to an idle chat: %+v", s)
		}
		release := hold(w)
		c.say("go")
		c.do(w.chat(), queued("q", "queued"))
		c.do(w.chat(), steer("left"))
		release(nil)
		if s := w.chatState(); s.SteeringMessage != nil || s.ActiveTurn.Message.Text != "left" {
			t.Errorf("what runs after the turn: %+v", s.ActiveTurn)
		}
		release(nil)
		release(nil)
		if got := w.agent.prompts(); !slices.Equal(got, []string{"go", "left", "queued"}) {
			t.Errorf("the agent was asked %v", got)
		}
	})
}

func TestQueueRefuses(t *testing.T) { // AHP requirement 113
	inWorld(t, func(w *world) {
		hold(w)
		c := w.create()
		c.say("go")
		guest := w.connect(driver, "dan-1")
		c.do(w.chat(), queued("q", "mine"))
		guest.refused(w.chat(), queued("q", "his"), "only Ana or the owner")
		removed := func(kind ahp.PendingMessageKind, id string) *ahp.ChatPendingMessageRemovedAction {
			return &ahp.ChatPendingMessageRemovedAction{Kind: kind, ID: id}
		}
		guest.refused(w.chat(), removed(ahp.PendingMessageKindQueued, "q"), "only Ana or the owner")
		c.refused(w.chat(), removed(ahp.PendingMessageKindQueued, "x"), "may have started")
		c.refused(w.chat(), removed(ahp.PendingMessageKindSteering, "q"), "may have started")
		c.refused(w.chat(), queued("", "x"), "needs an id")
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: w.chatState().ActiveTurn.ID}) // "mine" starts
		if s := w.chatState(); s.ActiveTurn.Message.Text != "mine" {
			t.Fatalf("what runs is %+v", s.ActiveTurn)
		}
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: w.chatState().ActiveTurn.ID})
		late := started("late")
		late.QueuedMessageID = "q"
		c.refused(w.chat(), late, "no message with this queuedMessageId")
		c.say("go")
		c.do(w.chat(), queued("q", "mine"))
		c.refused(w.chat(), &ahp.ChatPendingMessageSetAction{Kind: "later", ID: "x", Message: user("x")},
			"queued or steering")
		c.do(w.chat(), removed(ahp.PendingMessageKindQueued, "q"))
		for i := range 64 {
			c.do(w.chat(), queued(string(rune('A'+i)), "x"))
		}
		c.refused(w.chat(), queued("one more", "x"), "64 messages are queued")
		c.converged()
	})
}

func TestDrafts(t *testing.T) { // AHP requirement 120
	inWorld(t, func(w *world) {
		c, other := w.create(), w.connect(owner, "ana-2")
		other.subscribe(session, w.chat(), ahp.RootURI)
		draft := user("half a tho")
		c.do(w.chat(), &ahp.ChatDraftChangedAction{Draft: &draft})
		seen := mirrored[*ahp.ChatState](other, w.chat()).Draft
		other.mu.Lock()
		listed := fmt.Sprint(other.mirror.State(session), asJSON(t, other.notes))
		other.mu.Unlock()
		if seen == nil || seen.Text != "half a tho" {
			t.Errorf("another client has the draft %+v", seen)
		}
		if strings.Contains(listed, "half a tho") {
			t.Errorf("a summary has the draft: %s", listed)
		}
		if s := w.chatState(); s.Draft == nil || s.Draft.Text != "half a tho" {
			t.Errorf("the draft is %+v", s.Draft)
		}
		c.do(w.chat(), &ahp.ChatDraftChangedAction{})
		if s := w.chatState(); s.Draft != nil {
			t.Errorf("the draft stays: %+v", s.Draft)
		}
		c.converged()
	})
}
