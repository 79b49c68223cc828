package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// tools makes every turn call the tool in its text, and records the calls that ran.
func tools(w *world) (ran *[]string) {
	ran = new([]string)
	w.agent.config = agent.ApprovalConfig()
	w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
		name := turn.Message.Text
		if err := turn.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: name,
			DisplayName: name}); err != nil {
			return err
		}
		a, err := turn.Out.Confirm(ctx, &ahp.ChatToolCallReadyAction{ToolCallID: "c",
			InvocationMessage: ahp.Plain(name), Options: agent.Options()})
		if err != nil || !a.Approved {
			return err
		}
		*ran = append(*ran, name+" by "+string(a.Confirmed))
		return turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: "c", Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: ahp.Plain("ran")}})
	}
	return ran
}

func inApprovalWorld(t *testing.T, f func(*world, *[]string)) {
	t.Helper()
	inWorld(t, func(w *world) { f(w, tools(w)) })
}

// ask starts a turn that calls a tool. It returns the offered options, or none if there is no
// question.
func (c *client) ask(turn, tool string) (options []string) {
	c.w.t.Helper()
	c.do(c.w.chat(), &ahp.ChatTurnStartedAction{TurnID: turn, Message: user(tool)})
	if need := c.w.session().InputNeeded; len(need) == 1 {
		call := need[0].Value.(*ahp.SessionToolConfirmationRequest).ToolCall.Value.(*ahp.ToolCallPendingConfirmationState)
		for _, o := range call.Options {
			options = append(options, o.ID+": "+o.Label)
		}
	}
	return options
}

func TestPolicies(t *testing.T) {
	for policy, runs := range map[string]string{"ask": "", "writes": "read search",
		"auto": "read search edit execute shell mystery"} {
		inApprovalWorld(t, func(w *world, ran *[]string) {
			c := w.create()
			c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{agent.ApprovalKey: json.RawMessage(`"` +
				policy + `"`)}})
			for _, tool := range []string{"read", "search", "edit", "execute", "shell", "mystery"} {
				want := slices.Contains(strings.Fields(runs), tool)
				if asked := c.ask(tool, tool) != nil; asked == want {
					t.Errorf("%s: somebody is asked about %s: %v", policy, tool, asked)
				}
				if !want {
					c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: tool})
				}
			}
			for _, r := range *ran {
				if !strings.HasSuffix(r, " by setting") {
					t.Errorf("%s: %s", policy, r)
				}
			}
		})
	}
}

func TestAllowingAKind(t *testing.T) {
	inApprovalWorld(t, func(w *world, ran *[]string) {
		c := w.create()
		want := []string{"approve: Approve", "ahphub:kind: Always allow edits in this session", "deny: Deny"}
		if got := c.ask("1", "edit"); !slices.Equal(got, want) {
			t.Fatalf("offered %q, want %q", got, want)
		}
		yes := &ahp.ChatToolCallConfirmedAction{TurnID: "1", ToolCallID: "c", Approved: true,
			SelectedOptionID: optionKind}
		w.connect(driver, "dan-1").refused(w.chat(), yes, "only the owner can always allow")
		c.do(w.chat(), yes)
		if got := string(w.session().Config.Values[agent.AllowedKey]); got != `["edit"]` {
			t.Errorf("allowed is %s", got)
		}
		if c.ask("2", "edit") != nil {
			t.Error("the second edit asks")
		}
		if c.ask("3", "execute") == nil {
			t.Error("a command does not ask")
		}
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "3"})
		if got := c.ask("4", "mystery"); slices.Contains(got, "ahphub:kind") || len(got) != 2 {
			t.Errorf("what nobody knows can be allowed as a kind: %q", got)
		}
		c.do(w.chat(), &ahp.ChatTurnCancelledAction{TurnID: "4"})
		if want := []string{"edit by user-action", "edit by setting"}; !slices.Equal(*ran, want) {
			t.Errorf("ran %q, want %q", *ran, want)
		}

		w.connect(driver, "dan-2").refused(session,
			&ahp.SessionConfigChangedAction{Config: ahp.Meta{agent.AllowedKey: json.RawMessage(`["shell"]`)}}, "")
		c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{agent.AllowedKey: json.RawMessage(`[]`)}})
		if c.ask("5", "edit") == nil {
			t.Error("an edit does not ask any more after the list was emptied")
		}
		c.converged()
	})
}

// A guest's requests wait for approval, whatever the settings allow.
func TestGuestsPromptsAreAsked(t *testing.T) {
	inApprovalWorld(t, func(w *world, _ *[]string) {
		c := w.create()
		c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{agent.ApprovalKey: json.RawMessage(`"auto"`),
			agent.AllowedKey: json.RawMessage(`["edit"]`)}})
		dan := w.connect(driver, "dan-1")
		dan.subscribe(session, w.chat())
		if dan.ask("1", "edit") == nil {
			t.Error("a guest's edit does not ask")
		}
	})
}

func TestAnAgentsOwnAnswersStay(t *testing.T) {
	s := &ahp.SessionState{Config: &ahp.SessionConfigState{Schema: agent.ApprovalConfig()}}
	two := &ahp.ChatToolCallReadyAction{Options: []ahp.ConfirmationOption{{ID: "once",
		Kind: ahp.ConfirmationOptionKindApprove},
		{ID: "always", Kind: ahp.ConfirmationOptionKindApprove}, {ID: "no", Kind: ahp.ConfirmationOptionKindDeny}}}
	offerKind(s, "edit", two)
	if len(two.Options) != 3 {
		t.Errorf("an agent with an answer of its own that lasts offers %+v", two.Options)
	}
}
