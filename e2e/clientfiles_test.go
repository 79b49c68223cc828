package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A client's file is shown on its message's page while the client is connected; later the page says
// that it is missing.
func TestPageShowsFileOfClient(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	editor, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token(), ClientID: "editor",
		Serve: func(method string, _ json.RawMessage) (any, *ahp.Error) {
			if method != "resourceRead" {
				return nil, ahp.Errorf(ahp.CodeMethodNotFound, "no %s", method)
			}
			return ahp.ResourceReadResult{Data: "remember the milk", Encoding: ahp.ContentEncodingUtf8}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = editor.Close() })
	if _, err := editor.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	session := newOverProtocol(t, ctx, editor)
	chat := editor.State(session).(*ahp.SessionState).DefaultChat
	if err := editor.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	turn := &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), Message: ahp.Message{Text: "say read",
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser},
		Attachments: []ahp.MessageAttachment{{Value: &ahp.MessageResourceAttachment{Label: "notes.md",
			URI: "virtual://editor/notes.md"}}}}}
	if _, err := editor.Dispatch(ctx, chat, turn); err != nil {
		t.Fatal(err)
	}
	if err := editor.Wait(ctx,
		func() bool { s := editor.State(chat).(*ahp.ChatState); return len(s.Turns) == 1 }); err != nil {
		t.Fatal(err)
	}
	c, _ := signIn(t, prog.SignIn())
	status, page := get(t, c, prog.URL+"/s/"+shortOf(t, c, prog, session))
	_, turns, _ := strings.Cut(page, `<div id="turns">`)
	_, link, ok := strings.Cut(turns, `<a class="chip" href="`)
	link, _, _ = strings.Cut(link, `"`)
	if status != 200 || !ok || !strings.Contains(page, "notes.md") {
		t.Fatalf("no link to the file: %d\n%s", status, page)
	}
	if status, text := get(t, c, prog.URL+link); status != 200 || text != "remember the milk" {
		t.Errorf("the file is %d %q", status, text)
	}
	if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	if status, text := get(t, c, prog.URL+link); status != 404 ||
		!strings.Contains(text, "Client editor has this file and is not connected") {
		t.Errorf("without its client it is %d %q", status, text)
	}
}
