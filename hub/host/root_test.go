package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// lame is an agent that cannot describe itself.
type lame struct{ fake }

func (*lame) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{}, errors.New("not installed")
}

// plain is an agent that cannot fork chats.
type plain struct{ fake }

func (*plain) Describe(context.Context) (ahp.AgentInfo, error) {
	return ahp.AgentInfo{DisplayName: "Plain",
		Capabilities: &ahp.AgentCapabilities{MultipleChats: &ahp.MultipleChatsCapability{}}}, nil
}

func TestRootListsTheAgents(t *testing.T) { // AHP requirements 48, 49, 91
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{DefaultAgent: "z", Agents: map[string]agent.Backend{"a": &lame{}, "m": &plain{},
			"z": &fake{}}}, hubConfig())
		defer w.stop()
		agents := w.host.core.RootState().Agents
		if len(agents) != 3 || agents[0].Provider != "z" || agents[1].Provider != "a" || agents[0].Models == nil {
			t.Fatalf("the agents are %+v", agents)
		}
		if agents[1].Description != "not available: not installed" {
			t.Errorf("an agent that is not there is described as %q", agents[1].Description)
		}
		if many := agents[0].Capabilities.MultipleChats; many == nil || !*many.Fork {
			t.Errorf("chats of an agent that says nothing of them: %+v", many)
		}
		me := core.Caller{Principal: owner}
		w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: session, Provider: "m"}))
		w.must(w.host.Keep(session)) // opens its agent
		synctest.Wait()
		if root := fmt.Sprint(asJSON(t, w.host.core.RootState())); strings.Contains(root, session) {
			t.Errorf("root's state names a session: %s", root)
		}
		w.connect(owner, "ana-1").do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", Message: user("x")})
		fork := &ahp.ChatSource{Value: &ahp.ForkChatSource{Chat: w.chat(), TurnID: "t"}}
		if err := w.host.CreateChat(w.t.Context(), me, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2",
			Source: fork}); code(err) != ahp.CodeInvalidParams {
			t.Errorf("a fork that the agent does not offer: %v", err)
		}
		side := &ahp.ChatSource{Value: &ahp.SideChatSource{Chat: w.chat(), TurnID: "t"}}
		if err := w.host.CreateChat(w.t.Context(), me, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2",
			Source: side}); code(err) != ahp.CodeInvalidParams {
			t.Errorf("a side chat that the agent does not offer: %v", err)
		}
		w.must(w.host.CreateChat(w.t.Context(), me, ahp.CreateChatParams{Channel: session, Chat: "ahp-chat:/2"}))
	})
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no hub":        {Agents: map[string]agent.Backend{"a": &fake{}}},
		"no agent":      {Hub: hub.New(hubConfig())},
		"no such agent": {Hub: hub.New(hubConfig()), Agents: map[string]agent.Backend{"a": &fake{}}, DefaultAgent: "b"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
