package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/web"
)

// newSession creates a session by the form, with a first message, and returns its path.
func newSession(page *Page, prog *Program, message string) string {
	page.t.Helper()
	page.Open(prog.URL + "/new")
	page.Do(chromedp.SetValue("#message", message))
	page.Click("main form[method=post] .btn.main")
	page.Wait(`/^\/s\/[^/]+/.test(location.pathname) && document.readyState === 'complete'`)
	return strings.Join(strings.Split(Eval[string](page, "location.pathname"), "/")[:3], "/")
}

// share creates a link by the form and returns its address.
func share(page *Page, prog *Program, session, role string) string {
	page.t.Helper()
	page.Open(prog.URL + session + "/share")
	page.Click(`input[name=role][value=` + role + `]`)
	page.Click(".linkform .btn.main")
	page.Wait(`document.querySelector('#made')?.value.includes('/j#')`)
	return Eval[string](page, `document.querySelector('#made').value`)
}

// join joins by a link.
func join(page *Page, link, name string) {
	page.t.Helper()
	page.Open(link)
	page.Wait(`document.querySelector('input[name=token]').value !== ''`)
	page.WaitText("[data-look]", "invited you to")
	page.Shot("join")
	page.Do(chromedp.SetValue("#name", name))
	page.Click("main form .btn.main")
	page.Wait(`/^\/s\//.test(location.pathname) && document.readyState === 'complete'`)
}

func TestSharing(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	b := OpenBrowser(t)
	owner, guest := b.Page(), b.Page()
	owner.SignIn(prog)
	session := newSession(owner, prog, "say hello to everybody")
	owner.WaitAnswer("hello to everybody")
	link := share(owner, prog, session, "viewer")
	owner.Shot("link")

	join(guest, link, "Ana")
	guest.WaitAnswer("hello to everybody")
	guest.Shot("guest")
	owner.Open(prog.URL + session)
	owner.Wait(`[...document.querySelectorAll('#presence .face')].some(f => f.title.includes('Ana'))`)
	if Eval[bool](guest, `[...document.querySelectorAll('textarea, .owner-only, .prompt-only, .comment-only')].some(e => e.checkVisibility())`) {
		t.Error("a viewer is shown what they may not do")
	}

	// Revoking ends the guest's open pages immediately, not at the next heartbeat.
	owner.Open(prog.URL + session + "/share")
	guest.Allow(`40[13]|WebSocket`)
	start := time.Now()
	owner.Click("main .links .btn.bad")
	guest.Wait(`location.pathname !== '` + Eval[string](guest, "location.pathname") +
		`' || !document.querySelector('#conn')?.hidden || /revoked|sign in/i.test(document.body.innerText)`)
	checkPrompt(t, "the end of the revoked guest's page", start)
	guest.Shot("revoked")
	owner.WaitText("main .links", "Revoked")
}

// A viewer cannot write anything: the test tries every form of every page, and every method and
// action of the protocol.
func TestViewerOnTheRealProgram(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner := dial(t, ctx, prog, prog.Token())
	mine, other := newOverProtocol(t, ctx, owner), newOverProtocol(t, ctx, owner)
	c, _ := signIn(t, prog.SignIn())
	short := shortOf(t, c, prog, mine)
	token := linkOver(t, c, prog, short, "viewer")

	viewer := cookieFor(t, prog, token)
	for _, route := range postRoutes(t) {
		switch route { // the viewer's own presence and notifications
		case "/settings/theme", "/s/{session}/threads/seen", "/settings/notifications",
			"/settings/notifications/browser", "/s/{session}/mute":
			continue
		}
		path := strings.NewReplacer("{session}", short, "{chat}", "x", "{terminal}", "x", "{thread}", "x", "{verb}",
			"reply", "{link}", "x").Replace(route)
		res, err := viewer.PostForm(prog.URL+path, url.Values{"text": {"x"}, "title": {"x"}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s as a viewer: %s", path, res.Status)
		}
	}

	guest := dial(t, ctx, prog, token)
	before, _ := owner.Confirmed(mine)
	for method, params := range map[string]any{
		"createSession":  ahp.CreateSessionParams{Channel: "ahp-session:/" + uuid.NewString()},
		"disposeSession": ahp.DisposeSessionParams{Channel: mine},
		"createChat":     map[string]any{"channel": mine, "chat": "ahp-chat:/" + uuid.NewString()},
		"createTerminal": map[string]any{"channel": "ahp-terminal:/" + uuid.NewString(),
			"claim": map[string]any{"kind": "client", "clientId": "guest"}},
		"resourceList": map[string]any{"channel": ahp.RootURI, "uri": "file:///"},
		"resourceRead": map[string]any{"channel": ahp.RootURI, "uri": "file:///etc/passwd"},
		"subscribe":    ahp.SubscribeParams{Channel: other},
	} {
		err := guest.Call(ctx, method, params, nil)
		var refused *ahp.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s as a viewer: %v", method, err)
		}
	}
	if _, err := guest.Dispatch(ctx, mine, &ahp.SessionTitleChangedAction{Title: "taken"}); err != nil {
		t.Fatal(err)
	}
	if err := guest.Wait(ctx, func() bool { return guest.Unanswered() == 0 }); err != nil {
		t.Fatal("no answer to an action that is refused:", err)
	}
	fresh, err := owner.Fresh(ctx, mine)
	if err != nil || fresh.(*ahp.SessionState).Title != before.(*ahp.SessionState).Title {
		t.Errorf("a viewer renamed the session (%v)", err)
	}
	var list ahp.ListSessionsResult
	if err := guest.Call(ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 || list.Items[0].Resource != mine {
		t.Errorf("a viewer lists %v, %v", list.Items, err)
	}

	// Revoking closes the socket that the link's token opened.
	start := time.Now()
	revokeOver(t, c, prog, short)
	if err := guest.Wait(ctx, func() bool { return guest.Err() != nil }); err != nil && guest.Err() == nil {
		t.Fatal("the revoked socket lives on:", err)
	}
	checkPrompt(t, "the end of the revoked socket", start)
	if _, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: "again"}); err == nil {
		t.Error("a revoked token opens a socket")
	}
	if owner.Err() != nil {
		t.Errorf("the owner's socket ended too: %v", owner.Err())
	}
}

// revokeOver revokes the first link on the page of a session's links.
func revokeOver(t *testing.T, c *http.Client, prog *Program, short string) {
	t.Helper()
	res, err := c.Get(prog.URL + "/s/" + short + "/share")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	_, rest, ok := strings.Cut(string(body), `action="/s/`+short+"/share/")
	id, _, found := strings.Cut(rest, "/revoke")
	if !ok || !found {
		t.Fatalf("the page shows no link to revoke: %s\n%s", res.Status, body)
	}
	res, err = c.PostForm(prog.URL+"/s/"+short+"/share/"+id+"/revoke", nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func dial(t *testing.T, ctx context.Context, prog *Program, token string) *peer.Peer {
	t.Helper()
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	return p
}

func newOverProtocol(t *testing.T, ctx context.Context, p *peer.Peer) ahp.URI {
	t.Helper()
	uri := ahp.URI("ahp-session:/" + uuid.NewString())
	if err := p.Call(ctx, "createSession", ahp.CreateSessionParams{Channel: uri}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Subscribe(ctx, uri); err != nil {
		t.Fatal(err)
	}
	return uri
}

// shortOf returns a session's id in pages, once its page exists.
func shortOf(t *testing.T, c *http.Client, prog *Program, session ahp.URI) string {
	t.Helper()
	short := core.ShortID(session)
	if status, page := get(t, c, prog.URL+"/s/"+short); status != http.StatusOK {
		t.Fatalf("there is no page of %s: %d\n%s", session, status, page)
	}
	return short
}

// cookieFor joins by a link's token.
func cookieFor(t *testing.T, prog *Program, token string) *http.Client {
	t.Helper()
	c, _ := signIn(t, prog.URL+"/signin#nothing") // creates a cookie jar
	res, err := c.PostForm(prog.URL+"/j", url.Values{"token": {token}, "name": {"Ana"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatalf("joining: %s", res.Status)
	}
	return c
}

func postRoutes(t *testing.T) (all []string) {
	t.Helper()
	r := chi.NewRouter()
	p := pages.New(pages.Deps{})
	defer p.Close()
	web.PageRoutes{Pages: p}.Routes(r)
	_ = chi.Walk(r, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodGet {
			all = append(all, route)
		}
		return nil
	})
	if len(all) < 10 {
		t.Fatalf("only %v were found", all)
	}
	return all
}
