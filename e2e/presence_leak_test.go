package e2e

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/ahp"
)

// openLive opens the stream of a page like its script.
func openLive(t *testing.T, ctx context.Context, prog *Program, c *http.Client, path string) *websocket.Conn {
	t.Helper()
	res, err := c.Get(prog.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	_, rest, _ := strings.Cut(string(b), `data-live="`)
	query, _, ok := strings.Cut(rest, `"`)
	if err != nil || !ok || query == "" {
		t.Fatalf("%s has no stream: %s %v", path, res.Status, err)
	}
	ws, err := dialLive(ctx, prog, c, strings.ReplaceAll(query, "&amp;", "&"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func dialLive(ctx context.Context, prog *Program, c *http.Client, query string) (*websocket.Conn, error) {
	u, err := url.Parse(prog.URL)
	if err != nil {
		return nil, err
	}
	head := http.Header{"Origin": {prog.URL}}
	for _, k := range c.Jar.Cookies(u) {
		head.Add("Cookie", k.String())
	}
	ws, _, err := websocket.Dial(ctx, strings.Replace(prog.URL, "http", "ws", 1)+"/live?"+query,
		&websocket.DialOptions{HTTPHeader: head})
	if ws != nil {
		ws.SetReadLimit(-1)
	}
	return ws, err
}

// untilFrame reads frames until one contains a text.
func untilFrame(t *testing.T, ctx context.Context, ws *websocket.Conn, want string, h *heard) {
	t.Helper()
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			t.Fatalf("the page never showed %q: %v", want, err)
		}
		h.note("a live patch", b)
		if strings.Contains(string(b), want) {
			return
		}
	}
}

// People's positions are only sent to pages of their session: a guest of another session and all
// protocol clients, including the owner's, get nothing.
func TestPresenceStaysInItsSession(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	protocol, guestHeard, ownerHeard := &heard{}, &heard{}, &heard{}
	client := dialHeard(t, ctx, prog, prog.Token(), protocol)
	mine, theirs := newOverProtocol(t, ctx, client), newOverProtocol(t, ctx, client)
	for _, uri := range []ahp.URI{mine, theirs} {
		if err := client.Subscribe(ctx, uri); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := signIn(t, prog.SignIn())
	mineShort, theirsShort := shortOf(t, c, prog, mine), shortOf(t, c, prog, theirs)
	web := cookieFor(t, prog, linkOver(t, c, prog, mineShort, "viewer"))
	guest := openLive(t, ctx, prog, web, "/s/"+mineShort)

	for _, short := range []string{theirsShort, mineShort} {
		owner := openLive(t, ctx, prog, c, "/s/"+short)
		say := `{"t":"end","w":"reply:` + canary + `"}`
		if short == mineShort {
			say = `{"t":"end","w":"reply:shared"}`
		}
		if err := owner.Write(ctx, websocket.MessageText, []byte(say)); err != nil {
			t.Fatal(err)
		}
		untilFrame(t, ctx, owner, "reply:", ownerHeard)
	}
	untilFrame(t, ctx, guest, "reply:shared", guestHeard)
	if _, err := client.Dispatch(ctx, mine, &ahp.SessionTitleChangedAction{Title: "Named"}); err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(ctx, func() bool { return client.Unanswered() == 0 }); err != nil {
		t.Fatal(err)
	}
	if n := len(ownerHeard.canaries()); n == 0 {
		t.Error("the owner's page is not told where its people are: this test looks in the wrong places")
	}
	for who, h := range map[string]*heard{"a guest of another session": guestHeard,
		"a client of the protocol": protocol} {
		if h.bytes() == 0 {
			t.Errorf("%s was sent nothing: this test looks in the wrong places", who)
		}
		for _, s := range h.canaries() {
			t.Errorf("%s was told where people are: %s", who, s)
		}
	}
}
