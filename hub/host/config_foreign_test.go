package host

import (
	"encoding/json"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestForeignSettingsAreIgnoredOrBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		for asked, want := range map[string]string{
			`{}`: `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			// as VS Code creates a session
			`{"isolation":"folder","autoApprove":"default","mode":"interactive"}`: `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			// has an equivalent here
			`{"autoApprove":"autoApprove"}`: `{"approval":"auto","isolation":"folder","shell":"sh"}`,
			`{"isolation":"worktree"}`:      `{"approval":"ask","isolation":"worktree","shell":"sh"}`,
			// the foreign setting is ignored if ours is also set
			`{"autoApprove":"autoApprove","approval":"ask"}`: `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"autoApprove":"default","approval":"auto"}`:    `{"approval":"auto","isolation":"folder","shell":"sh"}`,
			// an unknown value of a setting that bounds what runs
			`{"autoApprove":"assisted"}`:                    `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"autoApprove":true}`:                          `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"approval":"never"}`:                          `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"approval":["auto"]}`:                         `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"approval":"AUTO","autoApprove":"default"}`:   `{"approval":"ask","isolation":"folder","shell":"sh"}`,
			`{"isolation":"container"}`:                     `{"approval":"ask","isolation":"worktree","shell":"sh"}`,
			`{"isolation":null}`:                            `{"approval":"ask","isolation":"worktree","shell":"sh"}`,
			`{"permissions":{"allow":["*"]},"shell":"zsh"}`: `{"approval":"ask","isolation":"folder","shell":"zsh"}`,
		} {
			var config ahp.Meta
			w.must(json.Unmarshal([]byte(asked), &config))
			res, err := w.host.ResolveSessionConfig(c.caller, ahp.ResolveSessionConfigParams{Config: config})
			got, _ := json.Marshal(res.Values)
			if err != nil || string(got) != want {
				t.Errorf("%s is resolved to %s (%v), want %s", asked, got, err, want)
			}
		}
		const other ahp.URI = "fake:/1"
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: other,
			Config: ahp.Meta{"isolation": encodeString("folder"), "autoApprove": encodeString("default"),
				"mode": encodeString("interactive")}}))
		s, _ := hub.StateOf[*ahp.SessionState](w.hub, other)
		if got, _ := json.Marshal(s.Config.Values); string(
			got) != `{"approval":"ask","isolation":"folder","shell":"sh"}` {
			t.Errorf("the session's settings are %s", got)
		}
	})
}

// The owner's editor can set approval by its foreign name. Other clients cannot loosen it by either
// name.
func TestAutoApproveSetsApprovalForOwnerAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		drivers := w.connect(driver, "drew-1")
		drivers.subscribe(session)
		for _, key := range []string{autoApproveKey, approvalKey} {
			for _, value := range []string{"autoApprove", "auto"} {
				drivers.refused(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{key: encodeString(value)}},
					"")
			}
		}
		if got := core.ConfigValue(w.session(), approvalKey); got != "ask" {
			t.Fatalf("a driver set approval to %s", got)
		}
		c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{autoApproveKey: encodeString("autoApprove")}})
		if got := core.ConfigValue(w.session(), approvalKey); got != "auto" {
			t.Errorf("approval is %s after the owner's autoApprove", got)
		}
		c.do(session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{autoApproveKey: encodeString("assisted")}})
		if got := core.ConfigValue(w.session(), approvalKey); got != "ask" {
			t.Errorf("approval is %s after a value of autoApprove that is not known here", got)
		}
		if _, leaks := w.session().Config.Values[autoApproveKey]; leaks {
			t.Error("the session has a setting that its schema does not")
		}
		c.converged()
	})
}
