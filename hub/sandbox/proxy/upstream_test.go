package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// upstream is a proxy that resolves names itself, like a company's.
type upstream struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

// newUpstream returns a proxy that leads its known names to the server at a loopback port, and refuses others.
func newUpstream(t *testing.T, port string) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.asked = append(u.asked, r.Method+" "+r.Host)
		u.mu.Unlock()
		switch {
		case r.Header.Get("Proxy-Authorization") != "Basic dXNlcjp3b3Jk":
			w.WriteHeader(http.StatusProxyAuthRequired)
		case strings.HasPrefix(r.Host, "refused."):
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodConnect:
			there, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer there.Close()
			here, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer here.Close()
			fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\nfirst ") // comes with the answer
			go func() { _, _ = io.Copy(there, here) }()
			_, _ = io.Copy(here, there)
		default:
			fmt.Fprint(w, "forwarded ", r.URL)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// through makes the proxy use u, except for good.example.
func (w *world) through(u *upstream, login string) {
	w.cfg.Upstream = func(to *url.URL) (*url.URL, error) {
		if strings.HasSuffix(to.Hostname(), "good.example") {
			return nil, nil
		}
		return url.Parse("http://" + login + "@" + u.Listener.Addr().String())
	}
}

func TestProxyGoesByUpstreamOfServer(t *testing.T) {
	w := newWorld(t, "good.example:PORT", "outside.example", "refused.example", "loop.example", "10.0.0.0/8")
	u := newUpstream(t, w.port)
	w.through(u, "user:word")
	conn := w.connect()
	fmt.Fprint(conn, "CONNECT outside.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewReader(conn)
	if line, _ := lines.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Fatal("a tunnel is answered with ", line)
	}
	_, _ = lines.ReadString('\n')
	fmt.Fprint(conn, "GET /path HTTP/1.0\r\nHost: inner\r\n\r\n")
	if got, _ := io.ReadAll(lines); !strings.HasPrefix(string(got), "first HTTP/1.0 200 ") ||
		!strings.HasSuffix(string(got), `GET inner /path "" 0`) {
		t.Errorf("the tunnel brings %q", got)
	}
	if _, body := w.send("GET http://outside.example/a HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic eA==\r\n" +
		"Connection: close\r\n\r\n"); body != "forwarded http://outside.example/a" {
		t.Errorf("a plain request is answered with %q", body)
	}
	if tunnel, plain := w.status("good.example:PORT"); tunnel != 200 || plain != 200 {
		t.Errorf("what the server reaches itself is answered with %d and %d", tunnel, plain)
	}
	for authority, want := range map[string]int{"loop.example:443": 403, "other.example:443": 403, "127.0.0.1:443": 403,
		"refused.example:443": 502} {
		if res, _ := w.send("CONNECT " + authority + " HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != want {
			t.Errorf("%s is answered with %s, want %d", authority, res.Status, want)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, asked := range u.asked {
		if !strings.Contains(asked, "outside.example") && !strings.Contains(asked, "refused.example") {
			t.Error("the upstream was asked for ", asked)
		}
	}
	for _, c := range w.Contacts("s1") {
		if c.Host == "refused.example" && !strings.Contains(c.Reason, "own proxy refuses it with 403") {
			t.Errorf("%s: %s", c, c.Reason)
		}
	}
}

func TestUpstreamThatFailsIsSaidWithoutItsLogin(t *testing.T) {
	w := newWorld(t, "outside.example")
	u := newUpstream(t, w.port)
	w.through(u, "user:wrongword")
	const ask = "CONNECT outside.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, want := range []string{"refuses it with 407", "own proxy does not answer"} {
		if res, body := w.send(ask); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, want) ||
			strings.Contains(body, "wrongword") {
			t.Errorf("%d, %q; want %q", res.StatusCode, body, want)
		}
		u.Close()
	}
	if text := w.log.String(); strings.Contains(text, "wrongword") {
		t.Error("the log has the login: ", text)
	}
}
