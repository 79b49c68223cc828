package main

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/static"
)

// checkStyleSheets checks that a follower serves style sheets with the same headers as the leader's
// inbox.
func (n *testNode) checkStyleSheets(t *testing.T) {
	t.Helper()
	ask := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "zstd")
		client := http.Client{Jar: n.jar}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	assets, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	page, style := ask("/"), ask(assets.Path("css/base.css"))
	if page.StatusCode != http.StatusOK || page.Header.Get("Content-Encoding") != "zstd" {
		t.Errorf("the inbox: %d %v", page.StatusCode, page.Header)
	}
	if style.StatusCode != http.StatusOK {
		t.Errorf("a style sheet: %d", style.StatusCode)
	}
	for _, name := range []string{"Content-Security-Policy", "Cross-Origin-Resource-Policy", "Permissions-Policy", "Referrer-Policy"} {
		if got, want := style.Header.Get(name), page.Header.Get(name); got == "" || got != want {
			t.Errorf("%s is %q on a style sheet, but %q on a page", name, got, want)
		}
	}
}

// checkLive checks that a follower's pages show changes made at the leader, and that the follower
// receives each frame once.
func (n *testNode) checkLive(t *testing.T, leader *testNode) {
	t.Helper()
	_, page := n.get(t, "/")
	query, session := textOf(t, page, `data-live="`, `"`), textOf(t, page, `href="/s/`, `"`)
	var streams []*websocket.Conn
	for range 3 {
		c, _, err := websocket.Dial(t.Context(), strings.Replace(n.url, "http", "ws", 1)+"/live?"+query,
			&websocket.DialOptions{HTTPClient: &http.Client{Jar: n.jar}, HTTPHeader: http.Header{"Origin": {n.url}}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		streams = append(streams, c)
	}
	client := http.Client{Jar: leader.jar}
	res, err := client.PostForm(leader.url+"/s/"+session+"/title", url.Values{"title": {"Renamed at the leader"}})
	if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	for _, c := range streams {
		for {
			_, frame, err := c.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(frame, []byte("Renamed at the leader")) {
				break
			}
		}
	}
	if res, err = client.PostForm(leader.url+"/s/"+session+"/title", url.Values{"title": {brought}}); err != nil || res.Body.Close() != nil {
		t.Fatal(err)
	}
	foreign := http.Header{"Origin": {"http://elsewhere.example"}, "Ahphub-Grant": {"x.1"}}
	_, res, err = websocket.Dial(t.Context(), strings.Replace(n.url, "http", "ws", 1)+"/live?"+query,
		&websocket.DialOptions{HTTPClient: &http.Client{Jar: n.jar}, HTTPHeader: foreign})
	if err == nil || res == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a stream for another site's page: %v, %v", res, err)
	}
	for _, want := range []string{"/live?" + query, "/live"} { // without a cookie or a room
		_, res, err = websocket.Dial(t.Context(), strings.Replace(n.url, "http", "ws", 1)+want, nil)
		if err == nil || res == nil || res.StatusCode < 300 || res.StatusCode >= 500 {
			t.Errorf("a stream without a visitor: %v, %v", res, err)
		}
	}
}

// checkDeletedSession checks that a follower shows nothing of a session once the leader has
// confirmed its deletion.
func (n *testNode) checkDeletedSession(t *testing.T, leader *testNode) {
	t.Helper()
	_, page := n.get(t, "/")
	session := textOf(t, page, `href="/s/`, `"`)
	_, page = n.get(t, "/s/"+session)
	c, _, err := websocket.Dial(t.Context(), strings.Replace(n.url, "http", "ws", 1)+"/live?"+textOf(t, page, `data-live="`, `"`),
		&websocket.DialOptions{HTTPClient: &http.Client{Jar: n.jar}, HTTPHeader: http.Header{"Origin": {n.url}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	client := http.Client{Jar: leader.jar}
	for _, step := range []struct{ path, field string }{{"/s/" + session + "/delete", "delete"}, {"/deleted/" + session, "restore"}} {
		res, err := client.PostForm(leader.url+step.path, url.Values{step.field: {"yes"}})
		if err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK {
			t.Fatal(step.path, res, err)
		}
	}
	for err == nil {
		_, _, err = c.Read(t.Context())
	}
	if code := websocket.CloseStatus(err); code != 4404 {
		t.Errorf("the stream of a deleted session was closed with %d: %v", code, err)
	}
	n.hasSession(t)
}

// textOf returns the text between before and after.
func textOf(t *testing.T, in, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(in, before)
	text, _, ends := strings.Cut(rest, after)
	if !found || !ends {
		t.Fatalf("no %s in %.2000s", before, in)
	}
	return html.UnescapeString(text)
}
