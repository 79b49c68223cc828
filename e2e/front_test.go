package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// front is a proxy between a page and the program: it holds selected requests back, drops them, or
// stops forwarding without closing connections, like a failed network.
type front struct {
	URL string

	mu      sync.Mutex
	changed *sync.Cond
	how     map[string]string // by path suffix: "hold" or "drop"
	held    int               // waiting requests
	cut     bool
	over    bool
}

// openFront starts a front for a program; it ends with the test.
func openFront(t *testing.T, prog *Program) *front {
	t.Helper()
	f := &front{how: map[string]string{}}
	f.changed = sync.NewCond(&f.mu)
	to, err := url.Parse(prog.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.pass(r) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	srv.Listener = gatedListener{srv.Listener, f}
	srv.Start()
	f.URL = srv.URL
	t.Cleanup(func() {
		closePages(t)
		f.set(func() { f.over = true })
		srv.CloseClientConnections()
		srv.Close()
	})
	return f
}

func (f *front) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.changed.Broadcast()
}

// hold holds back POSTs whose path has this suffix, until let.
func (f *front) hold(end string) { f.set(func() { f.how[end] = "hold" }) }

// drop closes the connections of such POSTs, including those held back.
func (f *front) drop(end string) { f.set(func() { f.how[end] = "drop" }) }

// let forwards them again.
func (f *front) let(end string) { f.set(func() { delete(f.how, end) }) }

// cutOff stops forwarding in both directions without closing connections; mend resumes it.
func (f *front) cutOff() { f.set(func() { f.cut = true }) }
func (f *front) mend()   { f.set(func() { f.cut = false }) }

// holding returns the number of requests held back.
func (f *front) holding() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func (f *front) pass(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held++
	defer func() { f.held-- }()
	for !f.over {
		how := ""
		for end, h := range f.how {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, end) {
				how = h
			}
		}
		if how != "hold" {
			return how == ""
		}
		f.changed.Wait()
	}
	return false
}

// wait returns when the network works.
func (f *front) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.cut && !f.over {
		f.changed.Wait()
	}
}

type gatedListener struct {
	net.Listener
	f *front
}

func (l gatedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return gatedConn{c, l.f}, err
}

type gatedConn struct {
	net.Conn
	f *front
}

func (c gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.f.wait()
	return n, err
}

func (c gatedConn) Write(b []byte) (int, error) {
	c.f.wait()
	return c.Conn.Write(b)
}

// signInBy signs a page in through a front.
func (p *Page) signInBy(f *front, prog *Program) {
	p.t.Helper()
	p.Open(strings.Replace(prog.SignIn(), prog.URL, f.URL, 1))
	p.Wait("location.pathname === '/' && document.readyState === 'complete'")
}
