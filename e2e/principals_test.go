package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
)

// A page of another site, or a program that guesses tokens of agents, does not keep the owner's client out.
func TestGuessesDoNotLockOwnerOut(t *testing.T) {
	prog := Start(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	guess := func(method, path, header, value string) {
		req, err := http.NewRequestWithContext(ctx, method, prog.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%s %s: %s", method, path, res.Status)
		}
	}
	for range 25 {
		guess(http.MethodGet, "/ahp?tkn=x", "Sec-Fetch-Site", "cross-site")
		guess(http.MethodPost, "/mcp", "Authorization", "Bearer x")
		guess(http.MethodGet, "/ahp", "Authorization", "Bearer x")
	}
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token()})
	if err != nil {
		t.Fatalf("the owner's client: %v", err)
	}
	defer p.Close()
	if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
		t.Error(err)
	}
	if _, status := signIn(t, prog.SignIn()); status != http.StatusOK {
		t.Errorf("the owner's browser: %d", status)
	}
}

// clientOf connects a client under an id; err is what the program says to its initialize.
func clientOf(t *testing.T, ctx context.Context, prog *Program, token, id string, serve func(string, json.RawMessage) (any, *ahp.Error)) (*peer.Peer, error) {
	t.Helper()
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: id, Serve: serve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	_, err = p.Initialize(ctx, ahp.RootURI)
	return p, err
}

// sharedSession makes a session and links into it, by role.
func sharedSession(t *testing.T, ctx context.Context, prog *Program, p *peer.Peer, roles ...string) (session, chat ahp.URI, tokens map[string]string) {
	t.Helper()
	session, tokens = newOverProtocol(t, ctx, p), map[string]string{}
	if err := p.Wait(ctx, func() bool { return p.State(session).(*ahp.SessionState).Lifecycle == ahp.SessionLifecycleReady }); err != nil {
		t.Fatal(err)
	}
	c, _ := signIn(t, prog.SignIn())
	for _, role := range roles {
		tokens[role] = partLink(t, c, prog, host.ShortID(session), role, "")
	}
	return session, p.State(session).(*ahp.SessionState).DefaultChat, tokens
}

func isRefused(err error, code int) bool {
	var refused *ahp.Error
	return errors.As(err, &refused) && refused.Code == code
}

// A guest can neither take the owner's clientId while the owner is away, also over a restart, nor keep the owner out by
// having it first.
func TestClientIdBelongsToItsPrincipal(t *testing.T) {
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	editor, err := clientOf(t, ctx, prog, prog.Token(), "editor", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, tokens := sharedSession(t, ctx, prog, editor, "viewer", "commenter")
	if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	takes := func(when string) {
		t.Helper()
		if _, err := clientOf(t, ctx, prog, tokens["viewer"], "editor", nil); !isRefused(err, ahp.CodePermissionDenied) {
			t.Errorf("%s a viewer takes the owner's clientId: %v", when, err)
		}
	}
	takes("at once")
	squatter, err := clientOf(t, ctx, prog, tokens["viewer"], "laptop", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(t, ctx, prog, tokens["commenter"], "laptop", nil); !isRefused(err, ahp.CodePermissionDenied) {
		t.Errorf("a commenter takes a viewer's clientId: %v", err)
	}
	prog.Kill9()
	prog.Restart()
	takes("after a restart")
	if _, err := editor.Reconnect(ctx); err != nil {
		t.Errorf("the owner comes back: %v", err)
	}
	if _, err := squatter.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(t, ctx, prog, prog.Token(), "laptop", nil); err != nil {
		t.Errorf("the owner is kept out by a viewer's client: %v", err)
	}
	if err := squatter.Wait(ctx, func() bool { return squatter.Err() != nil }); err != nil && squatter.Err() == nil {
		t.Error("the viewer's client is still connected under the owner's clientId")
	}
	if _, err := squatter.Reconnect(ctx); !isRefused(err, ahp.CodePermissionDenied) {
		t.Errorf("the viewer takes it back: %v", err)
	}
}

// A guest whose tool answers with a URI, under a clientId that the owner takes later, does not have the owner's client
// asked for it.
func TestGuestsClientDoesNotAskOwnersFiles(t *testing.T) {
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, err := clientOf(t, ctx, prog, prog.Token(), "first", nil)
	if err != nil {
		t.Fatal(err)
	}
	session, chat, tokens := sharedSession(t, ctx, prog, first, "driver", "viewer")
	driver, err := clientOf(t, ctx, prog, tokens["driver"], "laptop", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []ahp.URI{session, chat} {
		if err := driver.Subscribe(ctx, uri); err != nil {
			t.Fatal(err)
		}
	}
	say := func(channel ahp.URI, a ahp.Action) {
		t.Helper()
		if _, err := driver.Dispatch(ctx, channel, a); err != nil {
			t.Fatal(err)
		}
	}
	say(session, &ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "laptop",
		Tools: []ahp.ToolDefinition{{Name: "peek", Description: "Peeks.", InputSchema: json.RawMessage(`{"type":"object"}`)}}}})
	turn := uuid.NewString()
	say(chat, &ahp.ChatTurnStartedAction{TurnID: turn, Message: ahp.Message{Text: "call peek {}", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	var call *ahp.SessionToolClientExecutionRequest
	if err := driver.Wait(ctx, func() bool {
		for _, need := range driver.State(session).(*ahp.SessionState).InputNeeded {
			call, _ = need.Value.(*ahp.SessionToolClientExecutionRequest)
		}
		return call != nil
	}); err != nil {
		t.Fatal(err)
	}
	const secret ahp.URI = "vscode-local:/etc/passwd"
	say(chat, &ahp.ChatToolCallCompleteAction{TurnID: turn, ToolCallID: call.ToolCall.ToolCallID, Meta: ahp.Meta{"ahphub.contributor": json.RawMessage(`"owner"`)},
		Result: ahp.ToolCallResult{PastTenseMessage: ahp.Plain("Peeked"), Content: []ahp.ToolResultContent{{Value: &ahp.ToolResultResourceContent{URI: secret}}}}})
	if err := driver.Wait(ctx, func() bool { return len(driver.State(chat).(*ahp.ChatState).Turns) == 1 }); err != nil {
		t.Fatal(err)
	}
	if err := driver.Close(); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	if _, err := clientOf(t, ctx, prog, prog.Token(), "laptop", func(string, json.RawMessage) (any, *ahp.Error) {
		asked.Add(1)
		return ahp.ResourceReadResult{Data: "root:x:0:0", Encoding: ahp.ContentEncodingUtf8}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"viewer", "owner"} {
		reader := first
		if role == "viewer" {
			if reader, err = clientOf(t, ctx, prog, tokens["viewer"], "reader", nil); err != nil {
				t.Fatal(err)
			}
		}
		var got ahp.ResourceReadResult
		err := reader.Call(ctx, "resourceRead", ahp.ResourceReadParams{Channel: ahp.RootURI, URI: secret}, &got)
		if !isRefused(err, ahp.CodeNotFound) || got.Data != "" || asked.Load() > 0 {
			t.Errorf("the %s reads %q, %v; the owner's client was asked %d times", role, got.Data, err, asked.Load())
		}
	}
}
