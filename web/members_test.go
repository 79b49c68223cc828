package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

const phrase = "a phrase of four words"

// invited makes an account by an invitation and returns its cookie and id.
func (x *site) invited(want access.Member, name string) (cookie, id string) {
	x.t.Helper()
	token, made, err := x.members.Invite(x.t.Context(), want)
	if err != nil {
		x.t.Fatal(err)
	}
	res := x.ask("POST /invite", url.Values{"token": {token}, "name": {name}, "password": {phrase}}.Encode())
	if res.StatusCode != 303 {
		x.t.Fatalf("the invitation: %s %s", res.Status, text(x.t, res))
	}
	return cookieOf(x.t, res), made.ID
}

// An invitation works once, in time, for an unused name, and makes an account that signs in.
func TestInvitation(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 100 })
	token, made, err := x.members.Invite(t.Context(), access.Member{Role: access.RoleCommenter, For: "Ben"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(name, password string, more ...string) *http.Response {
		return x.ask("POST /invite", append(more,
			url.Values{"token": {token}, "name": {name}, "password": {password}}.Encode())...)
	}
	if got := text(t, x.ask("GET /invite")); !strings.Contains(got, "Create your account") ||
		strings.Contains(got, token) {
		t.Error("the page of an invitation is not there, or knows its token already")
	}
	if got := text(t, x.ask("POST /invite", "look=1&token="+token)); !strings.Contains(got,
		"Olu invited you to ahphub") ||
		!strings.Contains(got, "comment") {
		t.Errorf("it leads to %q", got)
	}
	for what, res := range map[string]*http.Response{"no name": send(" ", phrase),
		"the owner's name": send("oLU", phrase), "a short password": send("Ben", "short")} {
		if res.StatusCode != 422 || len(res.Cookies()) != 0 {
			t.Errorf("%s: %s", what, res.Status)
		}
	}
	if res := send("Ben", phrase, "Origin: https://evil.example"); res.StatusCode != 403 {
		t.Errorf("from another site: %s", res.Status)
	}
	planted := x.owner()
	res := send("Ben", phrase, planted)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/" {
		t.Fatalf("taking it: %s", res.Status)
	}
	cookie := cookieOf(t, res)
	if got := text(t, x.ask("GET /", cookie)); got != made.ID || cookie == planted {
		t.Errorf("signed in as %q by a new cookie: %v", got, cookie != planted)
	}
	if res := send("Eve", phrase); res.StatusCode != 403 || len(res.Cookies()) != 0 {
		t.Errorf("a second time: %s", res.Status)
	}
	for name, want := range map[string]int{"Ben": 303, " ben ": 303, "Eve": 403, "Olu": 403} {
		if res := x.ask("POST /signin/password",
			url.Values{"username": {name}, "password": {phrase}}.Encode()); res.StatusCode != want {
			t.Errorf("signing in as %q: %s, want %d", name, res.Status, want)
		}
	}
	if got := text(t, x.ask("GET /s/theirs", cookie)); got != made.ID {
		t.Errorf("a commenter on this host does not see a session: %q", got)
	}
	if res := x.ask("GET /new", cookie); res.StatusCode != 403 {
		t.Errorf("a commenter makes a session: %s", res.Status)
	}
	if log := x.log.String(); strings.Contains(log, token) || strings.Contains(log, phrase) {
		t.Error("the log has the token or the password")
	}
}

// Removing a member ends their open connections, their cookie and their tokens at once; a change of
// rights ends only streams.
func TestRemovePerson(t *testing.T) {
	x := newSite(t, nil)
	cookie, id := x.invited(access.Member{Role: access.RoleViewer}, "Ben")
	token, _, err := x.personal.New(t.Context(), id, "editor", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	bearer := "Authorization: Bearer " + token
	if got := text(t, x.ask("GET /ahp", bearer)); got != id+" " {
		t.Errorf("the token is %q", got)
	}
	open := func() {
		t.Helper()
		if res := x.ask("GET /live", cookie); res.StatusCode != 200 {
			t.Fatalf("a stream: %s", res.Status)
		}
	}
	ended := func(after string) {
		t.Helper()
		select {
		case <-x.pages.ended:
		case <-time.After(2 * time.Second):
			t.Errorf("a stream lived on for 2 s after %s", after)
		}
	}
	open()
	if err := x.members.Change(t.Context(), id, access.Member{Role: access.RoleDriver, Prompt: true}); err != nil {
		t.Fatal(err)
	}
	ended("a change of rights")
	open()
	if err := x.members.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended("a removal")
	if res := x.ask("GET /", cookie); res.StatusCode != 401 {
		t.Errorf("the cookie of somebody removed: %s", res.Status)
	}
	if res := x.ask("GET /ahp", bearer); res.StatusCode != 403 {
		t.Errorf("the token of somebody removed: %s", res.Status)
	}
	if res := x.ask("POST /signin/password", "username=Ben&password="+url.QueryEscape(phrase)); res.StatusCode != 403 {
		t.Errorf("the password of somebody removed: %s", res.Status)
	}
}

// A link that requires sign-in redirects there and back. Its token is in no address on the way.
func TestLinkThatRequiresSignIn(t *testing.T) {
	x := newSite(t, nil)
	member, id := x.invited(access.Member{Role: access.RoleMember}, "Ben")
	if res := x.ask("GET /s/mine", member); res.StatusCode != 404 {
		t.Errorf("a member sees what nobody shared: %s", res.Status)
	}
	token, link, err := x.links.New(t.Context(),
		access.Link{Session: "ahp-session:/mine", Role: access.RoleCommenter, SignIn: true, MaxUses: 1})
	if err != nil {
		t.Fatal(err)
	}
	look := x.ask("POST /j", "look=1&token="+token)
	if got := text(t, look); look.Header.Get("Sign-In") == "" || !strings.Contains(got, "Sign in") {
		t.Errorf("whoever looks is told %q", got)
	}
	res := x.ask("POST /j", "name=Eve&token="+token)
	if to := res.Header.Get("Location"); res.StatusCode != 303 || to != "/signin?next=/j" {
		t.Fatalf("somebody without an account: %s to %q", res.Status, to)
	}
	held := cookieOf(t, res)
	for _, c := range res.Cookies() {
		if c.Name != waitCookie || !c.HttpOnly || c.Path != "/j" || c.SameSite != http.SameSiteLaxMode ||
			c.MaxAge > 3600 {
			t.Errorf("what waits is kept as %+v", c)
		}
	}
	signedIn := x.ask("POST /signin/password", held,
		url.Values{"username": {"Ben"}, "password": {phrase}, "next": {"/j"}}.Encode())
	if to := signedIn.Header.Get("Location"); to != "/j" {
		t.Fatalf("after signing in: %s to %q", signedIn.Status, to)
	}
	as := cookieOf(t, signedIn)
	both := as + "; " + strings.TrimPrefix(held, "Cookie: ")
	if got := text(t, x.ask("GET /j", both)); !strings.Contains(got, "Join as Ben") ||
		!strings.Contains(got, "Title of mine") || strings.Contains(got, `name="name"`) {
		t.Errorf("back at the link: %s", got)
	}
	joined := x.ask("POST /j", both, "token="+token)
	if joined.StatusCode != 303 || joined.Header.Get("Location") != "/s/mine" {
		t.Fatalf("joining: %s %s", joined.Status, text(t, joined))
	}
	in := cookieOf(t, joined)
	if got := text(t, x.ask("GET /s/mine", in)); got != id || in == as {
		t.Errorf("in the session they are %q, by a new cookie: %v", got, in != as)
	}
	if uses := x.links.List("ahp-session:/mine")[0].Uses; len(uses) != 1 || uses[0].Name != "Ben" {
		t.Errorf("the link was used by %+v", uses)
	}
	if res := x.ask("GET /ahp", "Authorization: Bearer "+token); res.StatusCode != 403 {
		t.Errorf("a client came by it: %s", res.Status)
	}
	other, _ := x.invited(access.Member{Role: access.RoleMember}, "Cleo")
	if res := x.ask("POST /j", other, "token="+token); res.StatusCode != 422 {
		t.Errorf("the second person by a link for one: %s", res.Status)
	}
	if err := x.links.Revoke(t.Context(), link.ID); err != nil {
		t.Fatal(err)
	}
	if res := x.ask("POST /j", member, "token="+token); res.StatusCode != 403 {
		t.Errorf("a revoked link: %s", res.Status)
	}
	if log := x.log.String(); strings.Contains(log, token) {
		t.Error("the link's token is in the log")
	}
}

// A removed member also loses access to sessions they joined by links.
func TestRemovePersonEndsTheirLinks(t *testing.T) {
	x := newSite(t, nil)
	member, id := x.invited(access.Member{Role: access.RoleMember}, "Ben")
	token, _, err := x.links.New(t.Context(), access.Link{Session: "ahp-session:/mine", Role: access.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	in := cookieOf(t, x.ask("POST /j", member, "token="+token))
	if got := text(t, x.ask("GET /s/mine", in)); got != id {
		t.Fatalf("joined as %q", got)
	}
	if err := x.members.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if res := x.ask("GET /s/mine", in); res.StatusCode != 401 {
		t.Errorf("after the removal: %s", res.Status)
	}
}

// A principal who sees a part of a session is redirected to it, and finds nothing else.
func TestVisitPartOfSession(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.Home = func(session ahp.URI, s access.Scope) string {
			switch {
			case s.IsChat():
				return "/s/mine/c/one"
			case s.IsChangeset():
				return "/s/mine/changes?scope=session"
			}
			return "/s/mine"
		}
	})
	for _, test := range []struct {
		scope access.Scope
		home  string
		path  map[string]int
	}{
		{access.Scope{Kind: ahp.ChannelChat, URI: "ahp-chat:/one"}, "/s/mine/c/one",
			map[string]int{"/s/mine/c/one": 200, "/s/mine/c/two": 404, "/s/mine/t": 200, "/s/theirs": 404,
				"/s/theirs/c/one": 404, "/new": 403}},
		{access.Scope{Kind: ahp.ChannelChangeset, URI: "ahp-changeset:/mine/session"}, "/s/mine/changes?scope=session",
			map[string]int{"/s/mine/changes": 200, "/s/mine/c/one": 403, "/s/mine/t": 403, "/s/theirs/changes": 404}},
	} {
		token, _, err := x.links.New(t.Context(),
			access.Link{Session: "ahp-session:/mine", Role: access.RoleCommenter, Scope: test.scope})
		if err != nil {
			t.Fatal(err)
		}
		res := x.ask("POST /j", "name=Ana&token="+token)
		if to := res.Header.Get("Location"); to != test.home {
			t.Errorf("joining leads to %q, want %q", to, test.home)
		}
		cookie := cookieOf(t, res)
		for _, path := range []string{"/", "/s/mine"} {
			if res := x.ask("GET "+path, cookie); res.StatusCode != 303 || res.Header.Get("Location") != test.home {
				t.Errorf("%s leads to %s %q", path, res.Status, res.Header.Get("Location"))
			}
		}
		for path, want := range test.path {
			if res := x.ask("GET "+path, cookie); res.StatusCode != want {
				t.Errorf("%s: %s, want %d", path, res.Status, want)
			}
		}
	}
}

// Guessing a password on the account page is limited like signing in.
func TestCurrentPasswordGuessesAreLimited(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 3 })
	cookie := x.owner()
	for range 3 {
		if res := x.ask("POST /account/password", cookie, "current=wrong"); res.StatusCode != 403 {
			t.Fatalf("a wrong one: %s", res.Status)
		}
	}
	if res := x.ask("POST /account/password", cookie, "current=right"); res.StatusCode != 429 ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("after three wrong ones the right one: %s", res.Status)
	}
	if res := x.ask("GET /account", cookie); res.StatusCode != 200 {
		t.Errorf("the page itself: %s", res.Status)
	}
}

// Guesses of all kinds of tokens count together, and separately from passwords.
func TestTokenGuessesCountTogether(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Limits.Failures = 4 })
	for _, try := range []string{"POST /signin", "POST /j", "POST /invite"} {
		if res := x.ask(try, "token=guess&name=x"); res.StatusCode != 403 {
			t.Errorf("%s: %s", try, res.Status)
		}
	}
	if res := x.ask("GET /ahp", "Authorization: Bearer guess"); res.StatusCode != 403 {
		t.Errorf("a client: %s", res.Status)
	}
	for _, try := range []string{"POST /signin", "POST /j", "POST /invite"} {
		if res := x.ask(try, "token=guess&name=x"); res.StatusCode != 429 {
			t.Errorf("%s after four guesses: %s", try, res.Status)
		}
	}
	if res := x.ask("POST /signin/password", "password=guess"); res.StatusCode != 403 {
		t.Errorf("a password after four tokens: %s", res.Status)
	}
}
