package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// inToolWorld records the tokens that agents get.
func inToolWorld(t *testing.T, f func(w *world, tokens *[]string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tokens := new([]string)
		w := newWorld(t, Config{ToolServers: func(token string) []agent.MCPServer {
			*tokens = append(*tokens, token)
			return []agent.MCPServer{{Name: "host", Headers: map[string]string{"Authorization": token}}}
		}}, hub.Config{})
		defer w.stop()
		f(w, tokens)
	})
}

func (w *world) knows(token string) bool {
	_, ok := w.host.Toolbox(token)
	return ok
}

func TestAToolboxLastsAsLongAsItsAgent(t *testing.T) {
	inToolWorld(t, func(w *world, tokens *[]string) {
		w.create()
		if got := w.agent.spec.MCP; len(got) != 1 || got[0].Headers["Authorization"] != (*tokens)[0] {
			t.Fatalf("the agent was given %v of %v", got, *tokens)
		}
		box, ok := w.host.Toolbox((*tokens)[0])
		if !ok || box.Session() != session || w.knows("") || w.knows((*tokens)[0]+"x") {
			t.Error("a token opens what it should not, or not what it should")
		}
		w.host.turns.drop(session, errIdle) // it is unloaded
		if w.knows((*tokens)[0]) || box.Context().Err() == nil {
			t.Error("the toolbox of a closed agent is open")
		}
		if err := box.Annotate(w.t.Context(), &ahp.AnnotationsRemovedAction{}); err == nil {
			t.Error("a closed agent still comments")
		}
		c := w.connect(owner, "ana-2")
		c.do(w.chat(), started("again"))
		synctest.Wait()
		if len(*tokens) != 2 || (*tokens)[0] == (*tokens)[1] || !w.knows((*tokens)[1]) || len((*tokens)[1]) < 50 {
			t.Errorf("opened anew it was given %v", *tokens)
		}
		w.stop()
		if w.knows((*tokens)[1]) {
			t.Error("a toolbox is open after the host stopped")
		}
	})
}

func TestFailedAgentStartRemovesToolbox(t *testing.T) {
	inToolWorld(t, func(w *world, tokens *[]string) {
		w.agent.open = func(context.Context, agent.Spec) error { return errors.New("no licence") }
		w.create()
		if len(*tokens) == 0 || w.knows((*tokens)[0]) || len(w.host.tools.by) != 0 {
			t.Errorf("the token %v is known", *tokens)
		}
	})
}

// An agent's actions through its toolbox are checked by the same tables as people's.
func TestAToolboxHasTheAgentsRights(t *testing.T) {
	inToolWorld(t, func(w *world, tokens *[]string) {
		c := w.create()
		box, _ := w.host.Toolbox((*tokens)[0])
		c.do(core.AnnotationsURI(session), thread("t", comment("e", "Why?")))
		for says, a := range map[string]ahp.Action{
			"as an agent you can't": &ahp.ChatTurnStartedAction{TurnID: "x"},
			"only your own":         &ahp.AnnotationsRemovedAction{AnnotationID: "t"},
			"only the owner":        &ahp.SessionTitleChangedAction{Title: "x"},
			"at least one": &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: "u",
				Resource: "file:///a"}},
			"comment is empty": &ahp.AnnotationsEntrySetAction{AnnotationID: "t",
				Entry: ahp.AnnotationEntry{ID: "f"}},
		} {
			var refused Refusal
			if err := box.Annotate(w.t.Context(), a); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want one that says %q", a.ActionType(), err, says)
			}
		}
		w.must(box.Annotate(w.t.Context(), &ahp.AnnotationsUpdatedAction{AnnotationID: "t", Resolved: ahp.Ptr(true)}))
		synctest.Wait()
		if !w.threads().Annotations[0].Resolved {
			t.Error("the agent could not resolve what it was sent")
		}
		c.converged()
	})
}
