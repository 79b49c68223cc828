package notify

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestRefusePrivateAddresses(t *testing.T) {
	p := newPoster([]netip.Prefix{netip.MustParsePrefix("10.1.2.0/24")}, time.Second)
	for s, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "10.1.2.3": true,
		"::ffff:10.1.2.3": true,
		"127.0.0.1":       false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false,
		"::":       false,
		"10.1.3.1": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "fe80::1%eth0": false,
		"fd00::1": false, "fec0::1": false, "100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false,
		"255.255.255.255": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::7f00:1": false, "192.0.2.1": false, "2001:db8::1": false,
		"2001::1": false,
	} {
		if err := p.mayReach(netip.MustParseAddr(s), false); (err == nil) != want {
			t.Errorf("%s may be reached: %t, %v", s, !want, err)
		}
	}
	if p.mayReach(netip.MustParseAddr("93.184.215.14"), true) == nil ||
		p.mayReach(netip.MustParseAddr("10.1.2.3"), true) != nil {
		t.Error("without TLS only what was allowed may be reached")
	}
}

func TestWebhookAddresses(t *testing.T) {
	open, closed := newPoster([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Second),
		newPoster(nil, time.Second)
	for s, want := range map[string][2]bool{
		"https://hooks.example.com/a?b=c": {true, true}, "http://127.0.0.1:80/": {true, false},
		"https://127.0.0.1/":                 {true, false},
		"http://hooks.example.com/":          {true, false}, // refused when connecting
		"https://user:pw@hooks.example.com/": {}, "ftp://hooks.example.com/": {}, "https:///": {},
		"hooks.example.com":            {},
		"":                             {},
		"https://hooks.example.com/#x": {}, "javascript:alert(1)": {}, "https://[::1]/": {},
		"https://hooks.example.com/" + strings.Repeat("a", 3000): {},
	} {
		if got := [2]bool{open.check(s) == nil, closed.check(s) == nil}; got != want {
			t.Errorf("%.60q is taken: %v, want %v", s, got, want)
		}
	}
}

// The receiver is a real server: its name is resolved and checked when connecting.
func TestRealReceiver(t *testing.T) {
	var asked int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = io.Copy(io.Discard, r.Body) // before that, it does not see that the client left
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/long":
			for range 1000 {
				_, _ = w.Write(make([]byte, 64<<10)) // may be cut off
			}
		case "/slow":
			<-r.Context().Done()
		}
	}))
	defer srv.Close()
	closed, open := newPoster(nil, time.Second),
		newPoster([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 300*time.Millisecond)
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	send := func(p *poster, url string) (int, error) {
		return p.sendHook(t.Context(), &Hook{Owner: "owner", URL: url, Secret: newSecret()}, "id", []byte("{}"))
	}
	if _, err := closed.sendHook(t.Context(), &Hook{Owner: "person:ben", URL: byName, Secret: newSecret()}, "id",
		nil); err == nil || strings.ContainsAny(err.Error(), "0123456789") {
		t.Errorf("a member is told where a name of this network leads: %v", err)
	}
	for _, url := range []string{srv.URL, byName} {
		if _, err := send(closed, url); err == nil || !strings.Contains(err.Error(), "--notify-allow") || asked != 0 {
			t.Errorf("this machine is reached by %s: %v, %d were asked", url, err, asked)
		}
	}
	if status, err := send(open, srv.URL); status != 200 || err != nil {
		t.Errorf("what is allowed: %d, %v", status, err)
	}
	if status, err := send(open, srv.URL+"/away"); status != 302 || err == nil || asked != 2 {
		t.Errorf("a redirect: %d, %v, %d were asked", status, err, asked)
	}
	if status, err := send(open, srv.URL+"/long"); status != 200 || err != nil {
		t.Errorf("a long answer: %d, %v", status, err)
	}
	lost := &net.DNSError{Err: "no such host", Name: "hooks.example.com", Server: "10.0.0.53:53", IsNotFound: true}
	if err := plainError(&url.Error{Op: "Post", URL: srv.URL, Err: &net.OpError{Op: "dial", Err: lost}},
		true); !strings.Contains(err.Error(), "its name does not exist") || strings.Contains(err.Error(), "10.0.0.53") {
		t.Errorf("a name that is not known: %v", err)
	}
	if _, err := send(open, srv.URL+"/slow"); err == nil || !strings.Contains(err.Error(), "in time") ||
		strings.Contains(err.Error(), "/slow") {
		t.Errorf("a receiver that does not answer: %v", err)
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"One\nTwo":                                              "One",
		"\n\n## A heading\nx":                                   "A heading",
		"```go\nsecret := 1\n```\nLook at this":                 "Look at this",
		"~~~\n```\n~~~\nafter":                                  "after",
		"```\nnothing else":                                     "",
		"a\u202eb\u200bc\x1b[31md":                              "abc[31md",
		"tab\tand\u00a0space":                                   "tab and space",
		"curl -H 'Authorization: Bearer abcdefgh12345678' x":    "curl -H 'Authorization: … x",
		"export AWS_SECRET_ACCESS_KEY=abc/def":                  "export AWS_SECRET_ACCESS_KEY=…",
		"password: hunter22 ok":                                 "password: … ok",
		"git clone https://ana:pw123@host/x":                    "git clone https://…@host/x",
		"key is ghp_abcdefghijklmnop":                           "key is …",
		"AKIAIOSFODNN7EXAMPLE":                                  "…",
		"the token expires, a secret of ours":                   "the token expires, a secret of ours",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc":              "…",
		"```\n" + strings.Repeat("code\n", 1<<20) + "```\nlate": "",
		strings.Repeat("word ", 60):                             strings.TrimSpace(strings.Repeat("word ", 28)) + "…",
	} {
		if got := line(text); got != want {
			t.Errorf("of %.60q is told %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"a", "```\n", "\xff\n\u202e", "token=abcdef", strings.Repeat("é", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := line(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > longestLine ||
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("of %q is told %q", s, got)
		}
	})
}

func TestReconnectedPageGetsMissedNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		s, ok := w.n.Follow("")
		if !ok {
			t.Fatal("no stream is opened")
		}
		w.apply(session, ask("q1"))
		first := <-s.C
		s.Close()
		if _, open := <-s.C; open {
			t.Error("a closed stream goes on")
		}
		w.apply(session, ask("q2"))
		w.apply(chat, &ahp.ChatTurnStartedAction{TurnID: "t1"})
		w.apply(chat, &ahp.ChatTurnCompleteAction{TurnID: "t1"})
		s, _ = w.n.Follow(first.ID)
		defer s.Close()
		if a, b := <-s.C, <-s.C; a.Kind != Question || a.ID == first.ID || b.Kind != Finished {
			t.Errorf("after the break came %s and %s", a.Kind, b.Kind)
		}
		other, _ := w.n.Follow("unknown")
		defer other.Close()
		select {
		case x := <-other.C:
			t.Errorf("a page that was never here is told %+v", x)
		default:
		}
		for range streamQueue + keptNotices + 1 {
			w.n.live.tell(Notice{ID: "x"})
		}
		n := 0
		for range other.C { // closed after its capacity
			n++
		}
		if n != streamQueue+keptNotices {
			t.Errorf("a page that does not read had %d", n)
		}
		for i := range 2 * maxStreams {
			if _, ok := w.n.Follow(""); !ok {
				if i > maxStreams {
					t.Errorf("%d streams are open", i)
				}
				return
			}
		}
		t.Error("there is no end of streams")
	})
}
