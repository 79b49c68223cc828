package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/proxy/proxytest"
)

// world is a proxy with a server on loopback that represents the Internet: only 127.0.0.1 counts as public there.
type world struct {
	*Proxy
	t      *testing.T
	names  *proxytest.Names
	log    *bytes.Buffer
	policy *sandbox.Policy
	port   string // of the server
}

func newWorld(t *testing.T, allow ...string) *world {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %d", r.Method, r.Host, r.URL.RequestURI(), body,
			len(r.Header["Proxy-Authorization"]))
	}))
	t.Cleanup(server.Close)
	w := &world{t: t, log: &bytes.Buffer{}}
	_, w.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	w.names = proxytest.New(t, map[string]string{"good.example": "127.0.0.1", "deep.good.example": "127.0.0.1",
		"private.example": "10.1.2.3", "loop.example": "127.0.0.2", "loop6.example": "::1",
		"cloud.example": "169.254.169.254", "mapped.example": "::ffff:127.0.0.2",
		"turning.example": "127.0.0.1 127.0.0.2"})
	w.Proxy = New(Config{Log: slog.New(slog.NewTextHandler(w.log, nil)), Resolver: w.names.Resolver,
		IsPublic: func(ip netip.Addr) bool { return ip == netip.MustParseAddr("127.0.0.1") }})
	t.Cleanup(w.Close)
	for i := range allow {
		allow[i] = strings.ReplaceAll(allow[i], "PORT", w.port)
	}
	w.policy = &sandbox.Policy{Session: "s1", Allow: allow}
	return w
}

// connect returns a program's end of a connection.
func (w *world) connect() net.Conn {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { here.Close() })
	_ = here.SetDeadline(time.Now().Add(time.Minute))
	go w.Serve(w.policy, there)
	return here
}

// send sends a program's request and returns the answer.
func (w *world) send(text string) (*http.Response, string) {
	w.t.Helper()
	conn := w.connect()
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "PORT", w.port)); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatalf("%.200q is answered with: %v", text, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res, string(body)
}

// status returns the status for a destination, by CONNECT and by a plain request.
func (w *world) status(authority string) (tunnel, plain int) {
	w.t.Helper()
	conn := w.connect()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", strings.ReplaceAll(authority, "PORT", w.port))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	_, _ = fmt.Sscanf(line, "HTTP/1.1 %d", &tunnel)
	conn.Close()
	res, _ := w.send("GET http://" + authority + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	return tunnel, res.StatusCode
}

func TestProxyReachesListedHostsAlone(t *testing.T) {
	w := newWorld(t, "good.example:PORT", "*.good.example:PORT", "loop.example:PORT", "loop6.example:PORT",
		"cloud.example", "mapped.example:PORT", "private.example:PORT", "gone.example")
	for authority, want := range map[string]int{
		"good.example:PORT": 200, "GOOD.Example.:PORT": 200, "deep.good.example:PORT": 200, "127.0.0.1:PORT": 403,
		"good.example:1": 403, "evilgood.example:PORT": 403, "other.example:PORT": 403,
		"good.example.evil.com:PORT": 403, "127.0.0.2:PORT": 403, "[::1]:PORT": 403, "[::ffff:127.0.0.2]:PORT": 403,
		"169.254.169.254:80": 403, "10.1.2.3:80": 403, "0.0.0.0:PORT": 403, "[::]:PORT": 403,
		"[64:ff9b::7f00:2]:PORT": 403, "loop.example:PORT": 403, "loop6.example:PORT": 403, "cloud.example:80": 403,
		"mapped.example:PORT": 403, "private.example:PORT": 403, "gone.example:80": 502,
		"127.2:PORT": 400, "0x7f.0.0.2:PORT": 400, "2130706434:PORT": 400, "127.0.0.02:PORT": 400,
		"0x7f000002:PORT": 400, "localhost:PORT": 403, "good.example..:PORT": 400, "-:PORT": 403,
		"good_.example:PORT": 403, "xn--fsq.example:PORT": 403, "good.example:0": 400, "good.example:65536": 400,
		"good.example:080": 400, "[::1%25lo]:PORT": 400,
	} {
		tunnel, plain := w.status(authority)
		if tunnel != want || plain != want {
			t.Errorf("%s is answered with %d by CONNECT and %d plainly, want %d", authority, tunnel, plain, want)
		}
	}
	for _, name := range w.names.Asked() {
		if !strings.HasSuffix(name, "good.example") && !strings.Contains("loop.example loop6.example cloud.example "+
			"mapped.example private.example gone.example", name) {
			t.Error("a name that is not on the list is looked up: ", name)
		}
	}
}

func TestProxyRefusesWhatIsNoProxyRequest(t *testing.T) {
	w := newWorld(t, "good.example:PORT", "good.example")
	for text, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n":                                                           400,
		"GET https://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                  400,
		"GET ftp://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                    400,
		"GET http://a:b@good.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n":                                          400,
		"GET http:good.example HTTP/1.1\r\nHost: x\r\n\r\n":                                                      400,
		"GET http:///x HTTP/1.1\r\nHost: good.example\r\n\r\n":                                                   400,
		"CONNECT good.example HTTP/1.1\r\nHost: good.example\r\n\r\n":                                            400,
		"CONNECT / HTTP/1.1\r\nHost: good.example:443\r\n\r\n":                                                   400,
		"CONNECT http://good.example:PORT HTTP/1.1\r\nHost: x\r\n\r\n":                                           400,
		"CONNECT good.example:443@other.example:443 HTTP/1.1\r\nHost: x\r\n\r\n":                                 400,
		"CONNECT good.example:PORT/x HTTP/1.1\r\nHost: x\r\n\r\n":                                                400,
		"CONNECT g\u00f6\u00f6d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n":                                         400,
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n":                                                                  400,
		"nonsense\r\n\r\n":                                                                                       400,
		"GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n":                                   400,
		"GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 40<<10) + "\r\n\r\n":    431,
		"POST http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab": 400,
		"POST http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n":     501,
		"GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n":                                     400,
	} {
		if res, body := w.send(text); res.StatusCode != want {
			t.Errorf("%.80q is answered with %s and not %d: %.200s", text, res.Status, want, body)
		}
	}
}

func TestProxyForwardsAsItChecked(t *testing.T) {
	w := newWorld(t, "good.example:PORT")
	// A request with both lengths is chunked for the proxy; the server must not read its rest as another request.
	res, body := w.send("POST http://Good.example:PORT/a?b=c;d HTTP/1.1\r\nHost: other.example\r\n" +
		"Proxy-Authorization: Basic eA==\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"3\r\nabc\r\n0\r\n\r\n")
	if want := fmt.Sprintf(`POST good.example:%s /a?b=c;d "abc" 0`, w.port); res.StatusCode != 200 || body != want {
		t.Errorf("the server is sent %s: %s, want %s", res.Status, body, want)
	}
	// A tunnel forwards data that was sent with CONNECT, and ends one direction at a time.
	conn := w.connect()
	fmt.Fprintf(conn, "CONNECT good.example:%s HTTP/1.1\r\nHost: x\r\n\r\nGET /t HTTP/1.0\r\nHost: y\r\n\r\n", w.port)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.0 200 OK") ||
		!strings.Contains(string(all), "GET y /t") {
		t.Errorf("the tunnel brings %q, %v", all, err)
	}
}

func TestProxyChecksAddressThatItConnectsTo(t *testing.T) {
	w := newWorld(t, "turning.example:PORT")
	for i, want := range []int{200, 403, 403} { // its address changes after the first lookup
		if res, _ := w.send("GET http://turning.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != want {
			t.Errorf("request %d of a name that turns to loopback is answered with %s", i, res.Status)
		}
	}
	w = newWorld(t, "good.example:PORT")
	w.cfg.IsHub = func(at netip.AddrPort) bool { return fmt.Sprint(at.Port()) == w.port }
	if tunnel, plain := w.status("good.example:PORT"); tunnel != 403 || plain != 403 {
		t.Errorf("the hub's own port is answered with %d and %d", tunnel, plain)
	}
}

func TestRefusalNamesWhatToAllow(t *testing.T) {
	w := newWorld(t, "private.example")
	res, body := w.send("GET http://npm.example:8081/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if res.StatusCode != 403 || !strings.Contains(body, "--sandbox-allow npm.example:8081") {
		t.Errorf("a refusal says %s: %s", res.Status, body)
	}
	res, body = w.send("CONNECT npm.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasSuffix(strings.TrimSpace(res.Status), "--sandbox-allow npm.example") ||
		!strings.Contains(body, "npm.example") {
		t.Errorf("a refused CONNECT says %s: %s", res.Status, body)
	}
	if _, body = w.send("GET http://private.example/ HTTP/1.1\r\nHost: x\r\n\r\n"); strings.Contains(body,
		"10.1.2.3") ||
		!strings.Contains(body, "private network") {
		t.Errorf("the program is told %s", body)
	}
	found := false
	for _, c := range w.Contacts("s1") {
		found = found || c.Host == "private.example" && strings.Contains(c.Reason, "10.1.2.3")
	}
	if !found {
		t.Errorf("the owner is not told where the name leads: %+v", w.Contacts("s1"))
	}
}

func TestContactsAreBounded(t *testing.T) {
	p := &Proxy{contacts: contacts{log: slog.New(slog.DiscardHandler)}}
	c := &p.contacts
	c.note("s1", sandbox.Contact{Destination: sandbox.Destination{Host: "good.example", Port: 443}})
	for i := range 10 * mostContacts {
		d := sandbox.Destination{Host: fmt.Sprintf("h%d.example", i), Port: 443}
		c.note("s1", sandbox.Contact{Destination: d, Reason: "not on the list"})
	}
	for i := range 10 * mostContacts { // destinations that are denied now and reached later take no more space
		d := sandbox.Destination{Host: fmt.Sprintf("f%d.example", i), Port: 443}
		c.note("s1", sandbox.Contact{Destination: d, Reason: "not on the list"})
		if i < mostContacts-1 || i > 8*mostContacts {
			c.note("s1", sandbox.Contact{Destination: d})
			c.note("s1", sandbox.Contact{Destination: sandbox.Destination{Host: "good.example", Port: 443}})
		}
	}
	times := p.Contacts("s1")[0].Times
	for i := range 2 * mostSessions {
		c.note(fmt.Sprint("other", i), sandbox.Contact{Destination: sandbox.Destination{Host: "a.example", Port: 443}})
		c.note("s1", sandbox.Contact{Destination: sandbox.Destination{Host: "good.example", Port: 443}})
	}
	if n := len(p.Contacts("s1")); n > 2*mostContacts || n < mostContacts {
		t.Errorf("%d contacts are remembered", n)
	}
	if first := p.Contacts("s1")[0]; first.Host != "good.example" || first.Times != times+2*mostSessions ||
		times < 2*mostContacts {
		t.Errorf("what is reached often is forgotten for what is refused: %+v", first)
	}
	if len(c.sessions) > mostSessions {
		t.Errorf("%d sessions are remembered", len(c.sessions))
	}
}

func TestSessionHasBoundedConnections(t *testing.T) {
	w := newWorld(t, "good.example:PORT")
	for range mostConns {
		if !w.count("s1", 1) {
			t.Fatal("a connection is refused too early")
		}
	}
	if res, _ := w.send("GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 503 {
		t.Errorf("one connection too many is answered with %s", res.Status)
	}
	w.policy = &sandbox.Policy{Session: "s2", Allow: w.policy.Allow}
	if res, _ := w.send("GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("another session is answered with %s", res.Status)
	}
	w.count("s1", -1)
	w.policy = &sandbox.Policy{Session: "s1", Allow: w.policy.Allow}
	if res, _ := w.send("GET http://good.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != 200 {
		t.Errorf("with one less it is answered with %s", res.Status)
	}
}

func FuzzRequestReachesListedHostsAlone(f *testing.F) {
	for _, s := range []string{"CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://good.example/ HTTP/1.1\r\n" +
			"Host: x\r\n\r\n", "CONNECT [::1]:1 HTTP/1.1\r\n\r\n",
		"GET http://good.example\\@evil.example/ HTTP/1.1\r\n\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		hosts, _ := sandbox.ParseHosts([]string{"good.example"})
		d, err := sandbox.ParseDestination(r.RequestURI, 0)
		if r.Method != http.MethodConnect {
			d, err = destinationOf(r)
		}
		if err == nil && hosts.Allows(d) && (d.Host != "good.example" || d.Port != 80 && d.Port != 443 ||
			!strings.Contains(strings.ToLower(text), "good.example")) {
			t.Errorf("%q leads to %s", text, d)
		}
		if err == nil && r.Method != http.MethodConnect && !strings.EqualFold(strings.TrimSuffix(r.URL.Host, ":80"),
			strings.TrimSuffix(d.String(), ":80")) {
			t.Errorf("%q is sent to %s and was checked as %s", text, r.URL.Host, d)
		}
	})
}
