package host

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

func TestEveryDispatchableActionHasARule(t *testing.T) { // AHP requirements 35, 37
	inWorld(t, func(w *world) {
		n := 0
		for _, info := range ahp.Actions() {
			_, ruled := w.host.rules[info.Type]
			if info.Dispatchable != ruled {
				t.Errorf("%s: dispatchable %t, but a rule stands: %t", info.Type, info.Dispatchable, ruled)
			}
			if info.Dispatchable {
				n++
			}
		}
		if n != 47 || len(w.host.rules) != n {
			t.Errorf("%d actions are for clients, %d have a rule; 47 are expected", n, len(w.host.rules))
		}
		for name := range w.host.effects {
			if _, known := ahp.Info(name); !known {
				t.Errorf("there is an effect of %s, which is no action", name)
			}
		}
	})
}

// TestRulesTakeNoActionOfAnotherChannel also finds rules written for another action.
func TestRulesTakeNoActionOfAnotherChannel(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		root := &core.Request{Caller: core.Caller{Principal: owner}, Info: core.RootInfo, State: &ahp.RootState{},
			Now: w.host.core.Now()}
		for name, check := range w.host.rules {
			info, _ := ahp.Info(name)
			if _, reason := check(root, info.New()); reason == "" {
				t.Errorf("%s was taken on the root channel", name)
			}
		}
	})
}

// TestEmptyActions checks that actions without any field get an answer and break nothing.
func TestEmptyActions(t *testing.T) {
	inWorld(t, func(w *world) {
		hold(w)
		c := w.create()
		c.say("go")
		w.must(w.hub.Do(func(tx *hub.Tx) {
			_ = tx.Open(hub.ChannelInfo{URI: "ahp-terminal:/1", Kind: ahp.ChannelTerminal, Session: session},
				&ahp.TerminalState{
					Claim:     ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "ana-1"}},
					Lifecycle: ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusRunning}})
			_ = tx.Open(hub.ChannelInfo{URI: "ahp-changeset:/1", Kind: ahp.ChannelChangeset, Session: session},
				&ahp.ChangesetState{Status: ahp.ChangesetStatusReady})
		}))
		on := map[ahp.ChannelKind]ahp.URI{ahp.ChannelRoot: ahp.RootURI, ahp.ChannelSession: session,
			ahp.ChannelChat:        w.chat(),
			ahp.ChannelAnnotations: notes, ahp.ChannelTerminal: "ahp-terminal:/1",
			ahp.ChannelChangeset: "ahp-changeset:/1"}
		for _, info := range ahp.Actions() {
			for _, uri := range on {
				if reason := c.try(uri, info.New()); reason != "" && (strings.ContainsAny(reason, "{}%") ||
					len(reason) < 12) {
					t.Errorf("%s on %s: %q is no sentence", info.Type, uri, reason)
				}
			}
		}
		c.converged()
	})
}

func TestNotOfferedIsRefusedWithAReason(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		c.refused(ahp.RootURI, &ahp.RootConfigChangedAction{}, "no settings")
		c.refused(session, &ahp.SessionWorkingDirectorySetAction{Directory: "file:///tmp"}, "fixed here")
		c.refused(session, &ahp.SessionMcpServerStartRequestedAction{ID: "x"}, "no MCP servers")
		c.refused(session, &ahp.SessionReadyAction{}, "only the server")
		c.refused(session, &ahp.UnknownAction{Type: "session/dance"}, "does not support")
		c.refused(w.chat(), &ahp.SessionTitleChangedAction{Title: "x"}, "does not belong")
		// AHP requirement 117
		c.refused(w.chat(), &ahp.ChatWorkingDirectorySetAction{Directory: "file:///elsewhere"}, "of its session")
		c.do(w.chat(), &ahp.ChatWorkingDirectorySetAction{Directory: core.FileURI(w.dir)})
		c.do(session, &ahp.SessionIsArchivedChangedAction{IsArchived: true})
		c.do(w.chat(), &ahp.ChatIsArchivedChangedAction{IsArchived: true})
		c.do(w.chat(), &ahp.ChatIsReadChangedAction{IsRead: true})
		if s := w.session(); !s.Status.Has(ahp.SessionStatusIsArchived) ||
			!s.Chats[0].Status.Has(ahp.SessionStatusIsRead|ahp.SessionStatusIsArchived) {
			t.Errorf("session %d, its chat %d", s.Status, s.Chats[0].Status)
		}
		c.converged()
	})
}

func TestSettings(t *testing.T) { // AHP requirements 63, 84
	config := func(key, value string) ahp.Meta { return ahp.Meta{key: json.RawMessage(value)} }
	inWorld(t, func(w *world) {
		c := w.create()
		for says, m := range map[string]ahp.Meta{
			"fixed once": config("shell", `"zsh"`), "no setting": config("x", `1`),
			"type string": config("approval", `true`), "one of": config("approval", `"never"`),
		} {
			c.refused(session, &ahp.SessionConfigChangedAction{Config: m}, says)
		}
		c.do(session, &ahp.SessionConfigChangedAction{Config: config("approval", ` "auto" `), Replace: ahp.Ptr(true)})
		if got := w.session().Config.Values; string(got["shell"]) != `"sh"` ||
			core.ConfigValue(w.session(), "approval") != "auto" {
			t.Errorf("the settings are %s", got)
		}
		if w.agent.spec.Config("approval") != "auto" {
			t.Error("the agent sees an old setting")
		}
		c.converged()

		res, err := w.host.ResolveSessionConfig(c.caller, ahp.ResolveSessionConfigParams{Config: config("approval",
			`"auto"`)})
		if err != nil || string(res.Values["approval"]) != `"auto"` || string(res.Values["shell"]) != `"sh"` {
			t.Errorf("resolved to %s, %v", res.Values, err)
		}
		if got := slices.Sorted(maps.Keys(res.Schema.Properties)); !slices.Equal(got,
			[]string{"approval", worktrees.IsolationKey, "shell", worktrees.BaseKey}) {
			t.Errorf("the settings are %q", got)
		}
		if _, err := w.host.ResolveSessionConfig(c.caller, ahp.ResolveSessionConfigParams{Provider: "x"}); code(
			err) != ahp.CodeProviderNotFound {
			t.Errorf("an unknown agent: %v", err)
		}
	})
}
