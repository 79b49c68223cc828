package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A page of another site, or a program that guesses agents' tokens, does not lock the owner's
// client out.
func TestGuessesDoNotLockOwnerOut(t *testing.T) {
	t.Parallel()
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

// clientOf connects a client with an id; err is the answer to its initialize.
func clientOf(t *testing.T, ctx context.Context, prog *Program, token, id string,
	serve func(string, json.RawMessage) (any, *ahp.Error)) (*peer.Peer, error) {
	t.Helper()
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: id, Serve: serve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	_, err = p.Initialize(ctx, ahp.RootURI)
	return p, err
}

// sharedSession creates a session and links to it, by role.
func sharedSession(t *testing.T, ctx context.Context, prog *Program, p *peer.Peer,
	roles ...string) (session, chat ahp.URI, tokens map[string]string) {
	t.Helper()
	session, tokens = newOverProtocol(t, ctx, p), map[string]string{}
	if err := p.Wait(ctx, func() bool {
		return p.State(session).(*ahp.SessionState).Lifecycle == ahp.SessionLifecycleReady
	}); err != nil {
		t.Fatal(err)
	}
	c, _ := signIn(t, prog.SignIn())
	for _, role := range roles {
		tokens[role] = partLink(t, c, prog, core.ShortID(session), role, "")
	}
	return session, p.State(session).(*ahp.SessionState).DefaultChat, tokens
}

func isRefused(err error, code int) bool {
	var refused *ahp.Error
	return errors.As(err, &refused) && refused.Code == code
}

// A guest can neither take the owner's clientId while the owner is away, even across a restart, nor
// block the owner by using it first.
func TestClientIdBelongsToItsPrincipal(t *testing.T) {
	t.Parallel()
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
		if _, err := clientOf(t, ctx, prog, tokens["viewer"], "editor", nil); !isRefused(err,
			ahp.CodePermissionDenied) {
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

// If a guest's tool answers with a URI, under a clientId that the owner uses later, the owner's
// client is not asked for it.
func TestGuestsClientDoesNotAskOwnersFiles(t *testing.T) {
	t.Parallel()
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
		Tools: []ahp.ToolDefinition{{Name: "peek", Description: "Peeks.",
			InputSchema: json.RawMessage(`{"type":"object"}`)}}}})
	turn := uuid.NewString()
	say(chat, &ahp.ChatTurnStartedAction{TurnID: turn, Message: ahp.Message{Text: "call peek {}",
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
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
	say(chat, &ahp.ChatToolCallCompleteAction{TurnID: turn, ToolCallID: call.ToolCall.ToolCallID,
		Meta: ahp.Meta{"ahphub.contributor": json.RawMessage(`"owner"`)},
		Result: ahp.ToolCallResult{PastTenseMessage: ahp.Plain("Peeked"),
			Content: []ahp.ToolResultContent{{Value: &ahp.ToolResultResourceContent{URI: secret}}}}})
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

// Refused or repeated revocations have no audit entry, especially those of other people's tokens.
func TestRefusedRevocationsAreNotAudited(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner, _ := signIn(t, prog.SignIn())
	page, _ := post(t, owner, prog.URL+"/account/tokens", url.Values{"name": {"editor"}, "expires": {"never"}})
	_, rest, _ := strings.Cut(page, `action="/account/tokens/`)
	token, _, found := strings.Cut(rest, "/revoke")
	if !found {
		t.Fatalf("the page shows no token to revoke:\n%s", page)
	}
	page, _ = post(t, owner, prog.URL+"/people/invite", url.Values{"role": {"viewer"}, "for": {"Ben"}})
	_, rest, _ = strings.Cut(page, "/invite#")
	invitation := rest[:strings.IndexAny(rest, `"<& `)]
	jar, _ := cookiejar.New(nil)
	ben := &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	if _, status := post(t, ben, prog.URL+"/invite", url.Values{"token": {invitation}, "name": {"Ben"},
		"password": {"correct horse battery"}}); status != http.StatusSeeOther {
		t.Fatalf("Ben takes the invitation: %d", status)
	}
	owner.CheckRedirect = ben.CheckRedirect
	p := dial(t, ctx, prog, prog.Token())
	short := core.ShortID(newOverProtocol(t, ctx, p))
	linkOver(t, owner, prog, short, "viewer")

	refused := func(c *http.Client, path string, form url.Values) {
		t.Helper()
		if page, status := post(t, c, prog.URL+path, form); status < 400 || status >= 500 ||
			!strings.Contains(page, "<h1") {
			t.Errorf("%s: %d\n%.200s", path, status, page)
		}
	}
	refused(ben, "/account/tokens/"+token+"/revoke", nil)
	for _, path := range []string{"/account/tokens/nothing/revoke", "/account/passkeys/nothing/remove",
		"/people/browsers/nothing", "/people/links/nothing/revoke", "/s/" + short + "/share/nothing/revoke",
		"/people/files/nothing/revoke", "/people/members/person:nobody/remove",
		"/settings/notifications/hooks/nothing/remove"} {
		refused(owner, path, nil)
	}
	refused(owner, "/settings/notifications/mail", url.Values{"do": {"remove"}})
	refused(owner, "/account/password", url.Values{"remove": {"yes"}})
	post(t, owner, prog.URL+"/people/signout", nil) // the second time there is none to sign out
	post(t, owner, prog.URL+"/people/signout", nil)
	_, shared := get(t, owner, prog.URL+"/s/"+short+"/share")
	_, rest, _ = strings.Cut(shared, `action="/s/`+short+"/share/")
	link, _, _ := strings.Cut(rest, "/revoke")
	if _, status := post(t, owner, prog.URL+"/s/"+short+"/share/"+link+"/revoke", nil); status != http.StatusSeeOther {
		t.Errorf("revoking the link: %d", status)
	}
	refused(owner, "/people/links/"+link+"/revoke", nil)
	_, log := get(t, owner, prog.URL+"/audit.jsonl")
	if n := strings.Count(log, `"revoked a link`); n != 1 {
		t.Errorf("one revoked link is written down %d times", n)
	}
	for _, never := range []string{`"revoked a token`, `"removed`, `"signed out a browser`,
		`"signed out everywhere else`, `"revoked file access`, `"changed the password`,
		`"changed email notifications`} {
		if strings.Contains(log, never) {
			t.Errorf("the audit says %s:\n%s", never, log)
		}
	}
	if _, page := get(t, owner, prog.URL+"/account"); !strings.Contains(page, token) {
		t.Error("the token is gone")
	}
}

// post sends a form and returns the answer, even an error.
func post(t *testing.T, c *http.Client, address string, form url.Values) (page string, status int) {
	t.Helper()
	res, err := c.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), res.StatusCode
}

// A client's unused session is reported to clients, but not listed on pages until it has content.
func TestUnusedSessionIsNotInInbox(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := dial(t, ctx, prog, prog.Token())
	session := newOverProtocol(t, ctx, p)
	if err := p.Wait(ctx, func() bool {
		return p.State(session).(*ahp.SessionState).Lifecycle == ahp.SessionLifecycleReady
	}); err != nil {
		t.Fatal(err)
	}
	var list ahp.ListSessionsResult
	if err := p.Call(ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 {
		t.Errorf("clients are told of %d sessions, %v", len(list.Items), err)
	}
	c, _ := signIn(t, prog.SignIn())
	path := `href="/s/` + core.ShortID(session)
	if _, page := get(t, c, prog.URL+"/"); strings.Contains(page, path) {
		t.Error("the inbox lists a session that nothing is in")
	}
	chat := p.State(session).(*ahp.SessionState).DefaultChat
	if err := p.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dispatch(ctx, chat, &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(),
		Message: ahp.Message{Text: "say hi", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(ctx, func() bool { return len(p.State(chat).(*ahp.ChatState).Turns) == 1 }); err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, c, prog.URL+"/"); strings.Count(page, path) < 2 {
		t.Error("the inbox and the rail do not list the session after its first turn")
	}
}
