package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// Agents' actions on a call out of order are dropped: clients see a call start, get its input,
// become ready and complete, each once (AHP requirement 121).
func TestToolCallGoesThroughItsStatesInOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		start := func() ahp.Action {
			return &ahp.ChatToolCallStartAction{ToolCallID: "c", ToolName: "run", DisplayName: "Run"}
		}
		input := func() ahp.Action { return &ahp.ChatToolCallDeltaAction{ToolCallID: "c", Content: "{}"} }
		ready := func() ahp.Action {
			return &ahp.ChatToolCallReadyAction{ToolCallID: "c", InvocationMessage: ahp.Plain("run it"),
				Confirmed: ahp.ToolCallConfirmationReasonNotNeeded}
		}
		output := func() ahp.Action {
			return &ahp.ChatToolCallContentChangedAction{ToolCallID: "c",
				Content: []ahp.ToolResultContent{{Value: &ahp.ToolResultTextContent{Text: "so far"}}}}
		}
		done := func(text string) ahp.Action {
			return &ahp.ChatToolCallCompleteAction{ToolCallID: "c", Result: ahp.ToolCallResult{Success: true,
				PastTenseMessage: ahp.Plain(text)}}
		}
		w.agent.prompt = func(_ context.Context, turn agent.Turn) error {
			for _, a := range []ahp.Action{
				input(), ready(), output(), done("before it started"), start(),
				output(), start(), input(), ready(),
				input(), start(), output(), done("ran"),
				done("ran again"), output(), ready(), input(), start(),
			} {
				_ = turn.Out.Emit(a) // an action out of order may return an error
			}
			return nil
		}
		c := w.create()
		c.news()
		c.say("go")
		synctest.Wait()
		said := slices.DeleteFunc(c.news(), func(a string) bool { return !strings.HasPrefix(a, "chat/toolCall") })
		want := []string{"chat/toolCallStart", "chat/toolCallDelta", "chat/toolCallReady", "chat/toolCallContentChanged",
			"chat/toolCallComplete"}
		if !slices.Equal(said, want) {
			t.Errorf("clients were sent\n%q, want\n%q", said, want)
		}
		parts := core.LastTurn(w.chatState()).ResponseParts
		if len(parts) != 1 {
			t.Errorf("the turn has %d parts, want the one call", len(parts))
			return
		}
		call, ok := parts[0].Value.(*ahp.ToolCallResponsePart).ToolCall.Value.(*ahp.ToolCallCompletedState)
		if !ok || call.PastTenseMessage != ahp.Plain("ran") {
			t.Errorf("the call ended as %+v", parts[0].Value)
		}
		c.converged()
	})
}

// The number of chats that an agent can spawn is limited (AHP requirement 97).
func TestSpawnedChatsAreBoundedInNumber(t *testing.T) {
	inWorldOf(t, Config{Limits: core.Limits{Chats: 4}}, func(w *world) {
		var refused error
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			for range 8 {
				_, end, err := w.agent.spec.Host.Spawn(ctx, agent.SpawnSpec{Chat: turn.Chat, TurnID: turn.ID,
					ToolCallID: "c"})
				if err != nil {
					refused = err
					return nil
				}
				end(nil)
			}
			return nil
		}
		c := w.create()
		c.say("go")
		synctest.Wait()
		if n := len(w.session().Chats); refused == nil || n != 4 {
			t.Errorf("there are %d chats, and one more was answered %v", n, refused)
		}
	})
}

// A session's modification time is that of its last changed chat (AHP requirement 74).
func TestSessionChangedWithItsLatestChat(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		w.must(w.host.CreateChat(w.t.Context(), c.caller, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2"}))
		for _, chat := range []ahp.URI{"ahp-chat:/2", w.chat()} {
			tick()
			c.do(chat, started("go"))
			synctest.Wait()
			changed := ""
			for _, uri := range []ahp.URI{"ahp-chat:/2", w.chat()} {
				s, _ := hub.StateOf[*ahp.ChatState](w.hub, uri)
				changed = max(changed, s.ModifiedAt)
			}
			s, _ := hub.StateOf[*ahp.ChatState](w.hub, chat)
			if sum, _ := w.host.Summary(session); sum.ModifiedAt != changed || s.ModifiedAt != changed {
				t.Errorf("%s changed at %s, the latest chat at %s, and the session at %s", chat, s.ModifiedAt, changed,
					sum.ModifiedAt)
			}
		}
	})
}

// stuckMachine is a computer whose files are never listed.
type stuckMachine struct{ machine.Machine }

func (m stuckMachine) Changes() machine.Changes { return stuckChanges{m.Machine.Changes()} }

type stuckChanges struct{ machine.Changes }

func (stuckChanges) Files(ctx context.Context, _ machine.Workspace, _ []string, _ int) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Completions do not wait for a slow list of files (AHP requirement 119).
func TestCompletionsDoNotWaitForSlowFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Machine: stuckMachine{localtest.New(t, t.TempDir())}}, hub.Config{})
		defer w.stop()
		c := w.create()
		began := time.Now()
		res, err := w.host.Completions(w.t.Context(), c.caller, ahp.CompletionsParams{Channel: w.chat(),
			Kind: "userMessage", Text: "@a", Offset: 2})
		if took := time.Since(began); err != nil || res.Items == nil || took < time.Second || took > 3*time.Second {
			t.Errorf("after %v: %v, %v", took, res.Items, err)
		}
	})
}

// An unreadable directory has no children; an empty one has an empty list (AHP requirement 146).
func TestUnreadContainerHasNoChildren(t *testing.T) {
	inCustomWorld(t, func(w *world, s *shelf, _ *dialer) {
		unread := skills(w.dir + "/.claude/skills")
		unread.Groups[0].Problem = "permission denied"
		s.put(w.dir, unread)
		s.put("/home/ana", skills("/home/ana/.claude/skills"))
		c := w.create()
		list, _ := asJSON(t, w.session().Customizations).([]any)
		var got []string
		for _, e := range list {
			dir := e.(map[string]any)
			children, has := dir["children"]
			got = append(got, fmt.Sprint(dir["load"].(map[string]any)["kind"], " ", has, " ", children))
		}
		if want := []string{"error false <nil>", "loaded true []"}; !slices.Equal(got, want) {
			t.Errorf("the directories are %q, want %q", got, want)
		}
		c.converged()
	})
}
