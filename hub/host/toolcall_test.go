package host

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// commands makes every turn ask for approval of its text, and records the answers.
func commands(w *world, ready ahp.ChatToolCallReadyAction) (answers *[]*ahp.ChatToolCallConfirmedAction) {
	answers = new([]*ahp.ChatToolCallConfirmedAction)
	w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
		start := &ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run",
			Meta: ahp.Meta{"theirs": json.RawMessage(`1`)}}
		if err := turn.Out.Emit(start); err != nil {
			return err
		}
		r := ready
		r.ToolCallID, r.InvocationMessage = "c", ahp.Plain(turn.Message.Text)
		a, err := turn.Out.Confirm(ctx, &r)
		if err != nil || !a.Approved {
			*answers = append(*answers, a)
			return err
		}
		*answers = append(*answers, a)
		return turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: "c", Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("ran")},
			Meta: ahp.Meta{"theirs": json.RawMessage(`1`), "ahphub": json.RawMessage(`"forged"`)}})
	}
	return answers
}

func (w *world) approval(turn string, yes bool) *ahp.ChatToolCallConfirmedAction {
	return &ahp.ChatToolCallConfirmedAction{TurnID: turn, ToolCallID: "c", Approved: yes}
}

func (w *world) lastCall() ahp.ToolCallState {
	for i := len(w.chatState().Turns) - 1; i >= 0; i-- {
		for _, p := range w.chatState().Turns[i].ResponseParts {
			if part, ok := p.Value.(*ahp.ToolCallResponsePart); ok {
				return part.ToolCall
			}
		}
	}
	return ahp.ToolCallState{}
}

func TestApproval(t *testing.T) { // AHP requirements 76, 77, 122, 131
	inWorld(t, func(w *world) {
		answers := commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		second := w.connect(owner, "ana-2") // subscribes to nothing
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})

		need := w.session().InputNeeded
		if len(need) != 1 {
			t.Fatalf("inputNeeded is %+v", need)
		}
		r := need[0].Value.(*ahp.SessionToolConfirmationRequest)
		if sum, _ := w.host.Summary(session); sum.Status.Activity() != ahp.SessionStatusInputNeeded ||
			r.TurnID != "t" || r.Chat != w.chat() {
			t.Errorf("status %d, request %+v", sum.Status, r)
		}
		second.do(r.Chat, w.approval(r.TurnID, true))
		c.refused(w.chat(), w.approval("t", false), "already answered")

		if len(*answers) != 1 || !(*answers)[0].Approved {
			t.Fatalf("the agent heard %+v", *answers)
		}
		base := w.lastCall().Base()
		if by, ok := core.ReadStamp(base.Meta); !ok || by.By.Name != "Ana" || string(base.Meta["theirs"]) != "1" {
			t.Errorf("the call's _meta is %s", base.Meta)
		}
		if len(w.session().InputNeeded) != 0 {
			t.Error("inputNeeded stays after the answer")
		}
		if sum, _ := w.host.Summary(session); sum.Status.Activity() != ahp.SessionStatusIdle {
			t.Errorf("the summary's status is %d at the end", sum.Status)
		}
		c.converged()
	})
}

func TestDenial(t *testing.T) {
	inWorld(t, func(w *world) {
		answers := commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		no := w.approval("t", false)
		no.Confirmed, no.Reason = ahp.ToolCallConfirmationReasonSetting, "because"
		c.do(w.chat(), no)
		if len(*answers) != 1 || (*answers)[0].Approved {
			t.Fatalf("the agent heard %+v", *answers)
		}
		if call, ok := w.lastCall().Value.(*ahp.ToolCallCancelledState); !ok ||
			call.Reason != ahp.ToolCallCancellationReasonDenied {
			t.Errorf("the call is %+v", w.lastCall().Value)
		}
		c.converged()
	})
}

func TestInvalidConfirmationsAreRefused(t *testing.T) { // AHP requirement 122
	inWorld(t, func(w *world) {
		commands(w, ahp.ChatToolCallReadyAction{Options: []ahp.ConfirmationOption{
			{ID: "once", Label: "Once", Kind: ahp.ConfirmationOptionKindApprove}, {ID: "never", Label: "Never",
				Kind: ahp.ConfirmationOptionKindDeny}}})
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		for says, a := range map[string]*ahp.ChatToolCallConfirmedAction{
			"already answered": {TurnID: "t", ToolCallID: "other", Approved: true},
			"has ended":        {TurnID: "old", ToolCallID: "c", Approved: true},
			"can't be edited":  {TurnID: "t", ToolCallID: "c", Approved: true, EditedToolInput: "rm"},
			"contradicts":      {TurnID: "t", ToolCallID: "c", Approved: true, SelectedOptionID: "never"},
			"no option twice":  {TurnID: "t", ToolCallID: "c", Approved: true, SelectedOptionID: "twice"},
		} {
			c.refused(w.chat(), a, says)
		}
		ok := w.approval("t", true)
		ok.SelectedOptionID, ok.Confirmed = "once", ahp.ToolCallConfirmationReasonSetting
		c.do(w.chat(), ok)
		if call := w.lastCall().Value.(*ahp.ToolCallCompletedState); call.Confirmed != ahp.ToolCallConfirmationReasonUserAction {
			t.Errorf("a person's approval is written down as %q", call.Confirmed)
		}
	})
}

func TestAutoApprovalIsTheOwnersAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		answers := commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{"approval": json.RawMessage(`"auto"`)}})
		c.say("make")
		if len(*answers) != 1 || (*answers)[0].Confirmed != ahp.ToolCallConfirmationReasonSetting {
			t.Fatalf("the owner's command: %+v", *answers)
		}
		guest := w.connect(driver, "dan-1")
		guest.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "g", Message: user("rm -rf /")})
		if len(*answers) != 1 {
			t.Fatal("a guest's command ran unasked")
		}
		guest.refused(w.chat(), w.approval("g", true), "only the owner can approve a guest's requests")
		c.do(w.chat(), w.approval("g", true))
		if len(*answers) != 2 {
			t.Fatal("the owner's approval did not arrive")
		}
		trusted := driver
		trusted.ID, trusted.Guests = "guest:eve", true
		eve := w.connect(trusted, "eve-1")
		eve.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "e", Message: user("make")})
		eve.do(w.chat(), w.approval("e", true))
		if len(*answers) != 3 {
			t.Fatal("a guest whose link allows it could not approve what a guest asked for")
		}
	})
}

// A guest who approves the owner's request cannot edit it; the owner can (AHP requirement 125).
func TestGuestApprovesOnlyShownRequest(t *testing.T) {
	inWorld(t, func(w *world) {
		answers := commands(w, ahp.ChatToolCallReadyAction{Editable: ahp.Ptr(true)})
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "o", Message: user("make")})
		guest := w.connect(driver, "dan-1")
		edited := w.approval("o", true)
		edited.EditedToolInput = "rm -rf /"
		guest.refused(w.chat(), edited, "only the owner can edit the input")
		guest.do(w.chat(), w.approval("o", true))
		if len(*answers) != 1 {
			t.Fatal("the approval did not arrive")
		}
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "again", Message: user("make")})
		edited = w.approval("again", true)
		edited.EditedToolInput = "make -n"
		c.do(w.chat(), edited)
		if len(*answers) != 2 || (*answers)[1].EditedToolInput != "make -n" {
			t.Errorf("the agent was told to go on with %+v", *answers)
		}
	})
}

func TestRightsComeBeforeRules(t *testing.T) {
	inWorld(t, func(w *world) {
		commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		guest := w.connect(viewer, "vic-1")
		guest.refused(w.chat(), w.approval("t", true), "can't approve")
		guest.refused(w.chat(), started("hi"), "can't send messages")
		guest.refused(session, &ahp.SessionTitleChangedAction{Title: "x"}, "only the owner")
		if got := guest.try(ahp.RootURI, &ahp.RootConfigChangedAction{}); got == "" {
			t.Error("a guest changed the root")
		}
		stranger := viewer
		stranger.Session = "ahp-session:/elsewhere"
		if got := w.connect(stranger, "x").try(w.chat(), started("hi")); got != "unknown" { // AHP requirement 36
			t.Errorf("somebody else's guest got an answer: %q", got)
		}
	})
}

func TestConfirmationEndsWithItsTurn(t *testing.T) { // AHP requirement 115
	inWorld(t, func(w *world) {
		commands(w, ahp.ChatToolCallReadyAction{})
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "t"})
		if call, ok := w.lastCall().Value.(*ahp.ToolCallCancelledState); !ok ||
			call.Reason != ahp.ToolCallCancellationReasonSkipped {
			t.Errorf("the call is %+v", w.lastCall().Value)
		}
		if len(w.session().InputNeeded) != 0 || w.host.turns.runtimeOf(session).busy() {
			t.Error("something still waits")
		}
		c.converged()
	})
}

func TestResultConfirmation(t *testing.T) { // AHP requirement 126
	inWorld(t, func(w *world) {
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			for _, a := range []ahp.Action{
				&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run"},
				&ahp.ChatToolCallReadyAction{ToolCallID: "c", Confirmed: ahp.ToolCallConfirmationReasonNotNeeded},
				&ahp.ChatToolCallCompleteAction{ToolCallID: "c", RequiresResultConfirmation: ahp.Ptr(true)},
			} {
				if err := turn.Out.Emit(a); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return ctx.Err()
		}
		c := w.create()
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("make")})
		if len(w.session().InputNeeded) != 1 {
			t.Fatalf("inputNeeded is %+v", w.session().InputNeeded)
		}
		status := func() ahp.ToolCallStatus {
			part, _ := w.chatState().ActiveTurn.ResponseParts.At(0).Value.(*ahp.ToolCallResponsePart)
			return part.ToolCall.Status()
		}
		if got := status(); got != ahp.ToolCallStatusPendingResultConfirmation {
			t.Errorf("the call is %s while its result waits", got)
		}
		done := &ahp.ChatToolCallResultConfirmedAction{TurnID: "t", ToolCallID: "c", Approved: true}
		c.do(w.chat(), done)
		c.refused(w.chat(), done, "already answered")
		if got := status(); got != ahp.ToolCallStatusCompleted {
			t.Errorf("the call is %s after its result was approved", got)
		}
		if len(w.session().InputNeeded) != 0 {
			t.Error("inputNeeded stays after the answer")
		}
		c.converged()
	})
}

func toolClient(id string, tools ...string) *ahp.SessionActiveClientSetAction {
	a := &ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: id,
		Tools: []ahp.ToolDefinition{}}}
	for _, name := range tools {
		a.ActiveClient.Tools = append(a.ActiveClient.Tools, ahp.ToolDefinition{Name: name})
	}
	return a
}

// calls makes every turn call a client's tool, and records the results.
func calls(w *world) (results *[]ahp.ToolCallResult) {
	results = new([]ahp.ToolCallResult)
	w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
		r, err := turn.Out.ClientTool(ctx, "", "open", json.RawMessage(`{}`))
		if err == nil {
			*results = append(*results, r)
		}
		return err
	}
	return results
}

func (w *world) waitingCall() (turn, call string) {
	for _, r := range w.session().InputNeeded {
		if v, ok := r.Value.(*ahp.SessionToolClientExecutionRequest); ok {
			return v.TurnID, v.ToolCall.ToolCallID
		}
	}
	w.t.Fatal("no client tool waits")
	return "", ""
}

func TestClientTool(t *testing.T) { // AHP requirements 136, 141 to 144
	inWorld(t, func(w *world) {
		results := calls(w)
		c, second := w.create(), w.connect(owner, "ana-2")
		c.refused(session, toolClient("ana-2", "open"), "its own clientId")
		c.do(session, toolClient("ana-1", "open"))
		second.refused(session, toolClient("ana-2", "a", "a"), "itself")
		second.do(session, toolClient("ana-2", "close"))
		second.do(session, toolClient("ana-2", "shut"))
		if got := w.session().ActiveClients; len(got) != 2 || len(got[1].Tools) != 1 || got[1].Tools[0].Name != "shut" {
			t.Errorf("a client that was set again is listed as %+v", got)
		}

		c.say("go")
		turn, call := w.waitingCall()
		if sum, _ := w.host.Summary(session); sum.Status.Activity() != ahp.SessionStatusInProgress {
			t.Errorf("a running client tool shows as status %d", sum.Status)
		}
		done := &ahp.ChatToolCallCompleteAction{TurnID: turn, ToolCallID: call,
			Result: ahp.ToolCallResult{Success: true, PastTenseMessage: ahp.Plain("opened")},
			Meta:   ahp.Meta{"ahphub": json.RawMessage(`{"by":{"id":"owner","name":"Ana"}}`)}}
		second.refused(w.chat(), done, "only the client that contributed")
		second.refused(w.chat(), &ahp.ChatToolCallContentChangedAction{TurnID: turn, ToolCallID: call},
			"only the client that contributed")
		c.do(w.chat(), done)
		c.refused(w.chat(), done, "not running")
		if by, forged := core.ReadStamp(w.lastCall().Base().Meta); forged {
			t.Errorf("a client stamped its own call: %+v", by)
		}
		if len(*results) != 1 || !(*results)[0].Success {
			t.Fatalf("the agent got %+v", *results)
		}
		c.converged()
	})
}

func TestSilentClientToolFails(t *testing.T) { // AHP requirement 143
	inWorld(t, func(w *world) {
		results := calls(w)
		c := w.create()
		c.do(session, toolClient("ana-1", "open"))
		c.say("go")
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if len(*results) != 1 || (*results)[0].Success || w.chatState().ActiveTurn != nil {
			t.Fatalf("the agent got %+v", *results)
		}
	})
}

func TestClientDisconnects(t *testing.T) { // AHP requirements 137 to 140
	for name, tc := range map[string]struct {
		leave func(*world, *client)
		after time.Duration
		stays bool
	}{
		"unsubscribes":                {func(w *world, c *client) { w.host.Unsubscribed(c.caller, session) }, 0, false},
		"unsubscribes something else": {func(w *world, c *client) { w.host.Unsubscribed(c.caller, w.chat()) }, 0, true},
		"disconnects, still in time": {func(w *world, c *client) { w.host.Disconnected(c.caller) }, 29 * time.Second,
			true},
		"disconnects for good": {func(w *world, c *client) { w.host.Disconnected(c.caller) }, 31 * time.Second,
			false},
		"comes back": {func(w *world, c *client) {
			w.host.Disconnected(c.caller)
			w.host.Reconnected(c.caller, []ahp.URI{session})
		}, time.Minute, true},
		"comes back for other things": {func(w *world, c *client) {
			w.host.Reconnected(c.caller,
				[]ahp.URI{ahp.RootURI})
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				results := calls(w)
				c := w.create()
				c.do(session, toolClient("ana-1", "open"))
				c.say("go")
				tc.leave(w, c)
				time.Sleep(tc.after)
				synctest.Wait()
				if here := len(w.session().ActiveClients) == 1; here != tc.stays {
					t.Errorf("the client is listed: %t", here)
				}
				if failed := len(*results) == 1 && !(*results)[0].Success; failed == tc.stays {
					t.Errorf("its running call ended with %+v", *results)
				}
				c.converged()
			})
		})
	}
}

func TestSpawn(t *testing.T) { // AHP requirements 96, 97
	inWorld(t, func(w *world) {
		refused := make(chan error, 1)
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			host := w.agent.spec.Host
			sub, end, err := host.Spawn(ctx, agent.SpawnSpec{Chat: turn.Chat, TurnID: turn.ID, ToolCallID: "c",
				Title: "Look", Message: "look around"})
			if err != nil {
				return err
			}
			if err := sub.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p", Content: ahp.NewText("seen")}}}); err != nil {
				return err
			}
			deep := sub
			for range 5 {
				next, done, err := host.Spawn(ctx, agent.SpawnSpec{Chat: deep.Chat, ToolCallID: "c"})
				if err != nil {
					refused <- err
					break
				}
				defer done(nil)
				deep = next
			}
			end(nil)
			return nil
		}
		c := w.create()
		guest := w.connect(driver, "dan-1")
		guest.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("go")})
		if err := <-refused; err == nil {
			t.Error("chats may spawn chats without end")
		}
		sub := w.session().Chats[1]
		if origin, ok := sub.Origin.Value.(*ahp.ChatOriginTool); !ok || origin.Chat != w.chat() ||
			origin.ToolCallID != "c" || sub.Interactivity != ahp.ChatInteractivityReadOnly {
			t.Errorf("the sub-chat is %+v", sub)
		}
		s, _ := hub.StateOf[*ahp.ChatState](w.hub, sub.Resource)
		if len(s.Turns) != 1 || s.Turns[0].State != ahp.TurnStateComplete || len(s.Turns[0].ResponseParts) != 1 {
			t.Errorf("its turn is %+v", s.Turns)
		}
		if by, _ := core.ReadStamp(s.Turns[0].Message.Meta); by.By.Name != "Dan" {
			t.Errorf("what a guest asked for was passed on as %+v", by)
		}
		c.refused(sub.Resource, started("hello"), "read-only")
		if len(w.agent.prompts()) != 1 {
			t.Errorf("the agent was prompted for %v", w.agent.prompts())
		}
		c.converged()
	})
}
