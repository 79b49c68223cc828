package acp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A program that accepts several directories reports it in its first run, and gets those of the
// session.
func TestSeveralDirectories(t *testing.T) {
	b := acp.Backend{Program: program("rich"), Memory: acp.Remember("")}
	several := func() bool {
		info, err := b.Describe(t.Context())
		return err == nil && info.Capabilities != nil && info.Capabilities.MultipleWorkingDirectories != nil
	}
	if several() {
		t.Error("it takes several directories before its first run")
	}
	newWorld(t, b).until("the program reported that it takes several directories", several)
	more := t.TempDir()
	w := newWorldWith(t, b, nil, more)
	wants(t, w.say("dirs"), "markdown "+more+"\n")

	plain := acp.Backend{Program: program("plain"), Memory: acp.Remember("")}
	newWorld(t, plain)
	if w := newWorldWith(t, plain, nil, more); len(w.session().WorkingDirectories) != 1 { // AHP requirement 82
		t.Errorf("the directories are %v", w.session().WorkingDirectories)
	}
}

// Clients of the root channel are notified that a secret is missing, and that one is no longer
// valid.
func TestLoginRequestOnWire(t *testing.T) { // AHP requirement 192
	memory := acp.Remember("")
	w := newWorld(t, acp.Backend{Program: program("handed"), Memory: memory})
	conn, err := w.hub.Connect(hub.ConnConfig{Principal: access.Owner("Ana").ID, ClientID: "ana-2",
		Audience: access.Owner("Ana").Audience()})
	w.must(err)
	t.Cleanup(func() { conn.Close(errors.New("the test is over")) })
	conn.Subscribe(ahp.RootURI, hub.Subscription{URI: ahp.RootURI})
	asked := func() ahp.AuthRequiredParams {
		t.Helper()
		for {
			items, err := conn.Next(t.Context(), nil)
			w.must(err)
			for _, it := range items {
				if n, ok := it.Put.(*hub.Notification); ok && n.Method == "auth/required" {
					return n.Params.(ahp.AuthRequiredParams)
				}
			}
		}
	}
	wants(t, w.say("text"), "needs a login")
	got := asked()
	if got.Reason != ahp.AuthRequiredReasonRequired || got.Resource.ResourceName != "API key" ||
		!strings.HasPrefix(got.Resource.Resource, "ahphub-agent:/fake/") {
		t.Fatalf("what is asked for is %+v", got)
	}
	give := func(token string) {
		_, err := w.host.Authenticate(t.Context(), w.caller,
			ahp.AuthenticateParams{Channel: ahp.RootURI, Resource: got.Resource.Resource, Token: token})
		w.must(err)
	}
	give("closed")
	wants(t, w.say("text"), "needs a login")
	if got := asked(); got.Reason != ahp.AuthRequiredReasonExpired {
		t.Errorf("a token that is not taken is %+v", got)
	}
	give("open")
	wants(t, w.say("text"), "markdown Hello you\ncomplete\n")
}
