package host

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

func hubConfig() hub.Config { return hub.Config{} }

func tick() { time.Sleep(time.Second) } // the bubble's clock

// hold makes every turn wait until release ends it.
func hold(w *world) (release func(error)) {
	ch := make(chan error)
	w.agent.prompt = func(ctx context.Context, t agent.Turn) error {
		select {
		case err := <-ch:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return func(err error) {
		w.t.Helper()
		select {
		case ch <- err:
			synctest.Wait()
		case <-time.After(time.Minute): // the bubble's clock
			w.t.Fatalf("no turn runs; the agent was asked %v", w.agent.prompts())
		}
	}
}

func TestTurn(t *testing.T) { // AHP requirements 104 and 107
	inWorld(t, func(w *world) {
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			time.Sleep(1500 * time.Millisecond)
			return errors.Join(
				turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}}}),
				turn.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: "Hello "}),
				turn.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: "you"}))
		}
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t1", Message: ahp.Message{Text: "hi"}})
		c.refused(w.chat(), started("me too"), "busy")
		if at, err := time.Parse(time.RFC3339, w.chatState().ActiveTurn.StartedAt); err != nil ||
			time.Since(at) > time.Second {
			t.Errorf("startedAt was stamped %q", w.chatState().ActiveTurn.StartedAt)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s := w.chatState()
		if s.ActiveTurn != nil || len(s.Turns) != 1 || s.Turns[0].State != ahp.TurnStateComplete ||
			*s.Turns[0].Duration != 1500 {
			t.Fatalf("the turn is %+v", s.Turns)
		}
		if part := s.Turns[0].ResponseParts[0].Value.(*ahp.MarkdownResponsePart); part.Content.String() != "Hello you" {
			t.Errorf("the answer is %q", part.Content.String())
		}
		if by, ok := core.ReadStamp(s.Turns[0].Message.Meta); !ok || by.By.Name != "Ana" {
			t.Errorf("the message is stamped %+v", by)
		}
		c.refused(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t1", Message: user("again")}, "already")
		c.converged()
	})
}

func TestStartedAt(t *testing.T) { // AHP requirement 107
	inWorld(t, func(w *world) {
		c := w.create()
		now := time.Now()
		for sent, want := range map[string]time.Time{
			core.Timestamp(now.Add(-10 * time.Second)):                                 now.Add(-10 * time.Second),
			now.Add(5 * time.Second).In(time.FixedZone("", 3600)).Format(time.RFC3339): now.Add(5 * time.Second),
			"": now, "yesterday": now, core.Timestamp(now.Add(time.Hour)): now,
			core.Timestamp(now.Add(-time.Hour)): now,
		} {
			a := started("x")
			a.StartedAt = sent
			c.do(w.chat(), a)
			if got := core.LastTurn(w.chatState()).StartedAt; got != core.Timestamp(want) {
				t.Errorf("%q became %q", sent, got)
			}
		}
		if sum, _ := w.host.Summary(session); sum.ModifiedAt > core.Timestamp(now.Add(time.Minute)) {
			t.Errorf("a client's clock put the session at %s", sum.ModifiedAt)
		}
		c.converged()
	})
}

func TestInvalidMessagesAreRefused(t *testing.T) { // AHP requirements 99, 108
	inWorld(t, func(w *world) {
		c := w.create()
		agents := user("hello")
		agents.Origin.Kind = ahp.MessageKindAgent
		attached := user("look")
		attached.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageAnnotationsAttachment{Resource: "ahp-session:/two/annotations"}}}
		gone := user("look")
		gone.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageAnnotationsAttachment{Resource: core.AnnotationsURI(session), AnnotationIDs: []string{"x"}}}}
		chat, turn := user("look"), user("look")
		chat.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageChatAttachment{Resource: "ahp-chat:/nobody"}}}
		turn.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageChatAttachment{Resource: w.chat(),
			EndTurn: "x"}}}
		for says, m := range map[string]ahp.Message{
			"origin user": agents, "empty": {}, "at most": user(string(make([]byte, 2<<20))),
			"of this session": attached,
			"no annotation x": gone, "only chats of this session": chat, "not a completed turn": turn,
		} {
			c.refused(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: m}, says)
		}
		c.refused(w.chat(), &ahp.ChatTurnStartedAction{Message: user("x")}, "turnId")
		c.refused(w.chat(), &ahp.ChatDraftChangedAction{Draft: &agents}, "origin user")
		c.refused(w.chat(), &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: "q",
			Message: agents}, "origin user")
	})
}

// A running turn has no transcript to attach yet (AHP requirement 99).
func TestActiveTurnCannotBeAttached(t *testing.T) {
	inWorld(t, func(w *world) {
		release := hold(w)
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "active", Message: user("go")})
		m := user("look")
		m.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageChatAttachment{Resource: w.chat(),
			EndTurn: "active"}}}
		ask := &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: "q", Message: m}
		c.refused(w.chat(), ask, "not a completed turn")
		release(nil)
		c.do(w.chat(), ask)
		release(nil)
	})
}

func TestHowATurnEnds(t *testing.T) { // AHP requirement 107
	for name, tc := range map[string]struct {
		err       error
		state     ahp.TurnState
		message   string
		resumable bool
	}{
		"done": {nil, ahp.TurnStateComplete, "", false},
		"failure": {&agent.Failure{Message: "the model is away", Resumable: true}, ahp.TurnStateError,
			"the model is away", true},
		"any error": {errors.New("broken pipe"), ahp.TurnStateError, "broken pipe", false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				release := hold(w)
				c := w.create()
				c.say("go")
				time.Sleep(3 * time.Second)
				release(tc.err)
				last := core.LastTurn(w.chatState())
				if last == nil || last.State != tc.state || isResumable(last) != tc.resumable {
					t.Fatalf("the turn is %+v", last)
				}
				if last.Duration == nil || *last.Duration != 3000 {
					t.Errorf("the turn took %v ms, want 3000", last.Duration)
				}
				if tc.message != "" {
					part := last.ResponseParts[0].Value.(*ahp.ErrorResponsePart)
					if part.Error.Message != tc.message {
						t.Errorf("the error says %q", part.Error.Message)
					}
				}
				c.converged()
			})
		})
	}
}

func TestPanicOfAnAgentEndsItsTurnOnly(t *testing.T) {
	inWorld(t, func(w *world) {
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			if turn.Message.Text == "boom" {
				panic("boom")
			}
			return nil
		}
		c := w.create()
		c.say("boom")
		c.say("fine")
		s := w.chatState()
		if s.Turns[0].State != ahp.TurnStateError || s.Turns[1].State != ahp.TurnStateComplete {
			t.Fatalf("turns are %+v %+v", s.Turns[0], s.Turns[1])
		}
	})
}

func TestCancel(t *testing.T) { // AHP requirement 103
	inWorld(t, func(w *world) {
		hold(w)
		c := w.create()
		c.refused(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "t"}, "nothing to cancel")
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
		c.refused(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "other"}, "different turn")
		time.Sleep(2 * time.Second)
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "t", Duration: 7})
		last := core.LastTurn(w.chatState())
		if last.State != ahp.TurnStateCancelled || *last.Duration != 2000 {
			t.Fatalf("the turn is %+v", last)
		}
		if w.host.turns.runtimeOf(session).busy() {
			t.Error("the agent still works on the cancelled turn")
		}
		c.converged()
	})
}

func TestResume(t *testing.T) {
	inWorld(t, func(w *world) {
		release := hold(w)
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
		c.refused(w.chat(), &ahp.ChatTurnResumeAction{TurnID: "t"}, "busy")
		release(&agent.Failure{Message: "away", Resumable: true})
		c.refused(w.chat(), &ahp.ChatTurnResumeAction{TurnID: "other"}, "only the last turn")
		c.do(w.chat(), &ahp.ChatTurnResumeAction{TurnID: "t"})
		if got := w.agent.prompts(); len(got) != 2 || got[1] != "go" {
			t.Errorf("the agent was asked %v", got)
		}
		release(nil)
		s := w.chatState()
		if len(s.Turns) != 1 || s.Turns[0].State != ahp.TurnStateComplete {
			t.Fatalf("turns are %+v", s.Turns)
		}
		c.refused(w.chat(), &ahp.ChatTurnResumeAction{TurnID: "t"}, "only the last turn")
		c.converged()
	})
}

func TestAgentCannotSpeakAfterItsTurn(t *testing.T) {
	inWorld(t, func(w *world) {
		said := make(chan error, 1)
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			<-ctx.Done()
			said <- turn.Out.Emit(&ahp.ChatDeltaAction{PartID: "p", Content: "late"})
			return ctx.Err()
		}
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "t"})
		if err := <-said; err == nil {
			t.Error("a cancelled turn took a delta")
		}
	})
}

func TestAgentMaySendOnlyActionsOfTurns(t *testing.T) {
	inWorld(t, func(w *world) {
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			return turn.Out.Emit(&ahp.SessionTitleChangedAction{Title: "mine"})
		}
		c := w.create()
		c.say("go")
		if w.session().Title == "mine" || core.LastTurn(w.chatState()).State != ahp.TurnStateError {
			t.Error("an agent changed its session's title")
		}
	})
}

func TestTruncated(t *testing.T) { // AHP requirement 114
	inWorld(t, func(w *world) {
		c := w.create()
		defer func() {
			c.do(w.chat(), &ahp.ChatTruncatedAction{TurnID: "nobody"})
			if s := w.chatState(); len(s.Turns) != 1 {
				t.Errorf("cut at an unknown turn the chat has %d turns, want 1", len(s.Turns))
			}
			c.do(w.chat(), &ahp.ChatTruncatedAction{})
			if s := w.chatState(); len(s.Turns) != 0 || s.Status.Activity() != ahp.SessionStatusIdle {
				t.Errorf("emptied, the chat has %d turns and the status %d", len(s.Turns), s.Status)
			}
			c.converged()
		}()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "1", Message: user("one")})
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "2", Message: user("two")})
		hold(w)
		c.say("three")
		c.do(w.chat(), &ahp.ChatTruncatedAction{TurnID: "1"})
		if s := w.chatState(); len(s.Turns) != 1 || s.ActiveTurn != nil ||
			s.Status.Activity() != ahp.SessionStatusIdle {
			t.Fatalf("the chat has %d turns, active %v, and the status %d", len(s.Turns), s.ActiveTurn, s.Status)
		}
		if w.host.turns.runtimeOf(session).busy() {
			t.Error("the dropped turn still runs")
		}
		c.converged()
	})
}

func TestStopEndsTurnsAsResumableErrors(t *testing.T) {
	inWorld(t, func(w *world) {
		hold(w)
		c := w.create()
		c.say("go")
		before := time.Now()
		w.stop()
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("stopping took %v", took)
		}
		last := core.LastTurn(w.chatState())
		if last == nil || !isResumable(last) {
			t.Fatalf("the turn is %+v", last)
		}
		if w.agent.closed != 1 {
			t.Errorf("the agent was closed %d times", w.agent.closed)
		}
	})
}

func TestStopDoesNotWaitForAnAgentForEver(t *testing.T) {
	inWorld(t, func(w *world) {
		deaf := make(chan struct{})
		defer close(deaf)
		w.agent.prompt = func(context.Context, agent.Turn) error { <-deaf; return nil }
		c := w.create()
		c.say("go")
		before := time.Now()
		w.stop()
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

func TestSeveralChatsRunSideBySide(t *testing.T) { // AHP requirements 73, 90 to 95, 102
	inWorld(t, func(w *world) {
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t1", Message: user("one")})
		hold(w)
		first := user("hello")
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2",
			InitialMessage: &first}))
		c.subscribe("ahp-chat:/2")
		if len(w.session().Chats) != 2 || w.session().Chats[1].Status.Activity() != ahp.SessionStatusInProgress {
			t.Fatalf("the catalogue is %+v", w.session().Chats)
		}
		c.say("meanwhile")
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/3",
			Source: &ahp.ChatSource{Value: &ahp.ForkChatSource{Chat: w.chat(), TurnID: "t1"}}}))
		s, _ := hub.StateOf[*ahp.ChatState](w.hub, "ahp-chat:/3")
		if len(s.Turns) != 1 || s.ActiveTurn != nil || s.Turns[0].ID != "t1" {
			t.Errorf("the fork is %+v", s)
		}
		const elsewhere ahp.URI = "ahp-session:/elsewhere"
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: elsewhere}))
		theirs, _ := hub.StateOf[*ahp.SessionState](w.hub, elsewhere)
		c.do(theirs.DefaultChat, &ahp.ChatTurnStartedAction{TurnID: "t1", Message: user("there")})
		fork := func(v ahp.ChatSourceValue) ahp.CreateChatParams {
			return ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/4", Source: &ahp.ChatSource{Value: v}}
		}
		for name, p := range map[string]ahp.CreateChatParams{
			"no source":    fork(&ahp.UnknownVariant{}),
			"unknown chat": fork(&ahp.ForkChatSource{Chat: "ahp-chat:/9", TurnID: "t1"}),
			"elsewhere":    fork(&ahp.ForkChatSource{Chat: theirs.DefaultChat, TurnID: "t1"}),
			"unknown turn": fork(&ahp.ForkChatSource{Chat: w.chat(), TurnID: "t9"}),
			"active turn":  fork(&ahp.ForkChatSource{Chat: w.chat(), TurnID: w.chatState().ActiveTurn.ID}),
			"itself":       fork(&ahp.ForkChatSource{Chat: "ahp-chat:/4", TurnID: "t1"}),
			"directory":    {Channel: session, Chat: "ahp-chat:/4", WorkingDirectories: []ahp.URI{"file:///elsewhere"}},
		} {
			if err := w.host.CreateChat(w.t.Context(), c.caller, p); code(err) != ahp.CodeInvalidParams {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session,
			Chat: "ahp-chat:/2"}); code(err) != ahp.CodeAlreadyExists {
			t.Errorf("a taken URI: %v", err)
		}
		w.must(w.host.DisposeChat(w.t.Context(), c.caller, ahp.DisposeChatParams{Channel: "ahp-chat:/2"}))
		synctest.Wait()
		if slices.ContainsFunc(w.session().Chats, func(s ahp.ChatSummary) bool { return s.Resource == "ahp-chat:/2" }) {
			t.Error("the catalogue lists a disposed chat")
		}
		w.must(w.host.DisposeChat(w.t.Context(), c.caller, ahp.DisposeChatParams{Channel: w.chat()}))
		if w.chat() != "ahp-chat:/3" {
			t.Errorf("%s took the place of the default chat", w.chat())
		}
		if err := w.host.DisposeChat(w.t.Context(), c.caller, ahp.DisposeChatParams{Channel: w.chat()}); code(
			err) != ahp.CodeInvalidParams {
			t.Errorf("disposing the only chat: %v", err)
		}
		c.converged()
	})
}

func TestChatAttachmentBringsItsTranscript(t *testing.T) { // AHP requirements 98, 100
	inWorld(t, func(w *world) {
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			return turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p", Content: ahp.NewText("I did " + turn.Message.Text)}}})
		}
		c := w.create()
		attach := func(end string) *ahp.ChatTurnStartedAction {
			m := user("go on")
			m.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageChatAttachment{Label: "before",
				Resource: w.chat(), EndTurn: end}}}
			return &ahp.ChatTurnStartedAction{TurnID: ids.New(), Message: m}
		}
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2"}))
		c.do("ahp-chat:/2", attach(""))
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "1", Message: user("one")})
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "2", Message: user("two")})
		c.do("ahp-chat:/2", attach("1"))
		c.do("ahp-chat:/2", attach(""))
		var got []string
		for _, turn := range w.agent.turns {
			for _, a := range turn.Message.Attachments {
				got = append(got, a.Value.(*ahp.SimpleMessageAttachment).ModelRepresentation)
			}
		}
		one, two := "User:\none\n\nAgent:\nI did one\n\n", "User:\ntwo\n\nAgent:\nI did two\n\n"
		if !slices.Equal(got, []string{"", one, one + two}) {
			t.Errorf("the agent was given %q", got)
		}
	})
}
