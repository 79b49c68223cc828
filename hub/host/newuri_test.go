package host

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// The URIs that clients choose must match the kind, so that a session cannot be confused with a
// chat, a terminal or a script.
func TestURIsOfOtherKindsAreRefused(t *testing.T) {
	creates := map[string]struct {
		create       func(w *world, c core.Caller, uri ahp.URI) error
		says         string
		good, others []ahp.URI
	}{
		"session": {func(w *world, c core.Caller, uri ahp.URI) error {
			return w.host.CreateSession(w.t.Context(), c, ahp.CreateSessionParams{Channel: uri})
		}, "ahp-session:/<uuid>",
			[]ahp.URI{"ahp-session:/2", "fake:/3"},
			[]ahp.URI{"ahp-session:", "ahp-session:/", "ahp-session:2", "ahp-session://host/2", "FAKE:/3", "fake:3",
				"nobody:/3", session + "/changeset/session"}},
		"chat": {func(w *world, c core.Caller, uri ahp.URI) error {
			return w.host.CreateChat(w.t.Context(), c, ahp.CreateChatParams{Channel: session, Chat: uri})
		}, "ahp-chat:/<uuid>",
			[]ahp.URI{"ahp-chat:/2", "ahp-chat://host/c2NyaXB0Oi8x"},
			[]ahp.URI{"ahp-chat:", "ahp-chat:/", "ahp-chat://host", "ahp-session:/4", "fake:/4"}},
		"terminal": {func(w *world, c core.Caller, uri ahp.URI) error {
			return w.host.Terminals.Create(w.t.Context(), c, ahp.CreateTerminalParams{Channel: uri,
				Claim: ahp.TerminalClaim{
					Value: &ahp.TerminalClientClaim{ClientID: c.ClientID}}})
		}, "ahp-terminal:/<uuid>",
			[]ahp.URI{"ahp-terminal:/2", "agenthost-terminal:/3", "agenthost-terminal:///4",
				"agenthost-terminal://shell/5"},
			[]ahp.URI{"ahp-terminal:", "ahp-terminal:///", "ahp-chat:/5", "ahp-session:/5", "fake:/5"}},
	}
	nowhere := []ahp.URI{"", "hello", "javascript:alert(1)", "file:///etc/passwd", "https://example.com/1",
		"ahp-otlp:/logs", "ahp-root://", "ahp-automation:/1", "ahp-changeset:/1/session", "ahp-resource-watch:/1",
		`ahp-chat:/"`, "ahp-terminal:/a b", "ahp-session:/1#x", "ahp-session:/%zz"}
	for kind, tc := range creates {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.create()
				for _, uri := range append(nowhere, tc.others...) {
					err := tc.create(w, c.caller, uri)
					if code(err) != ahp.CodeInvalidParams || !strings.Contains(err.Error(), tc.says) {
						t.Errorf("%q: got %v, want -32602 and an example", uri, err)
					}
				}
				for _, uri := range tc.good {
					if err := tc.create(w, c.caller, uri); err != nil {
						t.Errorf("%q: %v", uri, err)
					}
				}
			})
		})
	}
}
