package pages_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"golang.org/x/net/html"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/hosttest"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/localtest"
	"github.com/ahphub/ahphub/hub/mcp/dial"
	"github.com/ahphub/ahphub/hub/usage"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

// testSite is the pages over a real hub and host, for one person.
type testSite struct {
	t     *testing.T
	hub   *hub.Hub
	host  *host.Host
	pages *pages.Pages
	url   string
	who   access.Principal
	web   *http.Client
	usage *usage.Ledger
}

var ana = access.Owner("Ana")

// open serves the pages to Ana; set changes their dependencies.
func open(t *testing.T, set ...func(*pages.Deps)) *testSite {
	t.Helper()
	s := &testSite{t: t, who: ana}
	var err error
	if s.usage, err = usage.Open(t.Context(), usage.Config{Owner: ana.ID,
		Sender: func(m ahp.Message) (string, string) {
			st, _ := core.ReadStamp(m.Meta)
			return st.By.ID, st.By.Name
		}}); err != nil {
		t.Fatal(err)
	}
	s.hub = hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) {
		s.host.Derive(tx, e)
		s.usage.Derive(tx, e)
	}})
	// without a watch: each access reads the disk
	library := custom.NewLibrary(custom.Limits{}, slog.New(slog.DiscardHandler))
	data := t.TempDir()
	s.host, err = host.New(host.Config{Hub: s.hub, Machine: localtest.New(t, data, local.WithCustoms(library,
		dial.Dialer{})),
		Agents:  localtest.ReachAgents(t, map[string]agent.Backend{script.Provider: script.Backend{}}),
		DataDir: data, DefaultDir: t.TempDir(), Budget: s.usage.Check})
	if err != nil {
		t.Fatal(err)
	}
	stop := hosttest.Run(t, s.host)
	assets, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	deps := pages.Deps{Host: s.host, Automations: s.host.Automations, Customs: s.host.Customs, Reviews: s.host.Threads,
		Changes: s.host.Changes, Worktrees: s.host.Worktrees, Sandboxes: s.host.Sandboxes, Terminals: s.host.Terminals, Files: s.host.Files, Hub: s.hub, Assets: assets,
		Usage: s.usage}
	for _, f := range set {
		f(&deps)
	}
	s.pages = pages.New(deps)
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(access.WithPrincipal(r.Context(), s.who)))
		})
	})
	web.PageRoutes{Pages: s.pages}.Routes(r)
	r.NotFound(s.pages.NotFound)
	srv := httptest.NewServer(r)
	s.url = srv.URL
	jar, _ := cookiejar.New(nil)
	s.web = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		s.web.CloseIdleConnections()
		s.pages.Close()
		srv.Close()
		stop()
	})
	return s
}

// get returns a page, which must exist.
func (s *testSite) get(path string) string {
	s.t.Helper()
	res, err := s.web.Get(s.url + path)
	return s.body(path, res, err, http.StatusOK)
}

func (s *testSite) body(path string, res *http.Response, err error, want int) string {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		_, main, _ := strings.Cut(string(b), "<main")
		s.t.Fatalf("%s: %s, wanted %d: %v\n%.2000s", path, res.Status, want, err, cmp.Or(main, string(b)))
	}
	return string(b)
}

// post submits a form without JavaScript, and returns the address of the redirect.
func (s *testSite) post(path string, form url.Values) string {
	s.t.Helper()
	res, err := s.web.PostForm(s.url+path, form)
	s.body(path, res, err, http.StatusSeeOther)
	return res.Header.Get("Location")
}

// session creates a session and returns the path of its chat.
func (s *testSite) session() (base, chat string) {
	s.t.Helper()
	base = s.post("/new", url.Values{"dir": {s.t.TempDir()}, "agent": {script.Provider}})
	page := s.get(base)
	m := regexp.MustCompile(`action="(/s/[^/]+/c/[^/]+)/message"`).FindStringSubmatch(page)
	if m == nil {
		s.t.Fatalf("the page of a new session has no composer:\n%s", page)
	}
	return base, m[1]
}

// say sends a message to a chat.
func (s *testSite) say(chat, text string) {
	s.t.Helper()
	s.post(chat+"/message", url.Values{"text": {text}})
}

// until requests a page until it shows a text.
func (s *testSite) until(path, want string) string {
	s.t.Helper()
	page := ""
	if !within(func() bool { page = s.get(path); return strings.Contains(page, want) }) {
		s.t.Fatalf("%s never showed %q:\n%s", path, want, page)
	}
	return page
}

// tab is an open page, with its patched document.
type tab struct {
	t    *testing.T
	doc  *html.Node
	ws   *websocket.Conn
	mark map[string]string
	raw  [][]byte
}

// tab opens a page and its stream.
func (s *testSite) tab(path string) *tab {
	s.t.Helper()
	doc, err := html.Parse(strings.NewReader(s.get(path)))
	if err != nil {
		s.t.Fatal(err)
	}
	b := &tab{t: s.t, doc: doc, mark: map[string]string{}}
	q, err := url.ParseQuery(attr(find(doc, func(n *html.Node) bool { return n.Data == "body" }), "data-live"))
	if err != nil || len(q["f"]) == 0 {
		s.t.Fatalf("%s has no stream: %v", path, err)
	}
	for _, m := range q["f"] {
		name, _, _ := strings.Cut(m, "~")
		b.mark[name] = m
	}
	b.connect(s)
	return b
}

// connect opens the stream from the page's marks.
func (b *tab) connect(s *testSite) {
	b.t.Helper()
	q := url.Values{}
	for _, m := range b.mark {
		q.Add("f", m)
	}
	ws, _, err := websocket.Dial(context.Background(), strings.Replace(s.url, "http", "ws", 1)+"/live?"+q.Encode(),
		&websocket.DialOptions{HTTPClient: s.web})
	if err != nil {
		b.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	b.ws = ws
	b.t.Cleanup(func() { _ = ws.CloseNow() })
}

// read reads one frame.
func (b *tab) read(ctx context.Context) error {
	_, raw, err := b.ws.Read(ctx)
	if err != nil {
		return err
	}
	var frame []json.RawMessage
	var room, mark string
	var n int64
	var patches [][]any
	if err := json.Unmarshal(raw, &frame); err != nil || json.Unmarshal(frame[0], &room) != nil ||
		json.Unmarshal(frame[1], &n) != nil || json.Unmarshal(frame[2], &patches) != nil {
		b.t.Fatalf("a frame is not [room, number, patches]: %s", raw)
	}
	for name, m := range b.mark {
		if parts := strings.Split(m, "~"); strings.HasSuffix(parts[1], "."+room) {
			b.mark[name] = fmt.Sprintf("%s~%s~%d", parts[0], parts[1], n)
		}
	}
	if len(frame) == 4 && json.Unmarshal(frame[3], &mark) == nil {
		name, _, _ := strings.Cut(mark, "~")
		b.mark[name] = mark
	}
	if room != "" { // heartbeats have none
		b.raw = append(b.raw, raw)
	}
	for _, p := range patches {
		b.apply(p)
	}
	return nil
}

// wait reads until the element shows a text.
func (b *tab) wait(id, want string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for !strings.Contains(b.text(id), want) {
		if err := b.read(ctx); err != nil {
			b.t.Fatalf("#%s never showed %q: %v; it shows\n%s", id, want, err, b.html(id))
		}
	}
}

// apply applies a patch like the page's script.
func (b *tab) apply(p []any) {
	str := func(i int) string { s, _ := p[i].(string); return s }
	if str(0) == "s" {
		return
	}
	el := b.id(str(1))
	if el == nil {
		return
	}
	switch str(0) {
	case "x":
		el.Parent.RemoveChild(el)
	case "r":
		for _, n := range parseIn(el.Parent, str(2)) {
			el.Parent.InsertBefore(n, el)
		}
		el.Parent.RemoveChild(el)
	case "a":
		for _, n := range parseIn(el, str(2)) {
			if have := b.id(attr(n, "id")); have != nil {
				have.Parent.InsertBefore(n, have)
				have.Parent.RemoveChild(have)
				continue
			}
			el.AppendChild(n)
		}
	case "i", "d":
		depth, _ := p[2].(float64)
		for ; depth > 0; depth-- {
			last := el.LastChild
			for last != nil && last.Type != html.ElementNode {
				last = last.PrevSibling
			}
			if last == nil {
				break
			}
			el = last
		}
		for n, gone := el.LastChild, str(0) == "i"; n != nil && !gone; n = el.LastChild {
			gone = n.Type == html.ElementNode
			el.RemoveChild(n)
		}
		for _, n := range parseIn(el, str(3)) {
			el.AppendChild(n)
		}
	default:
		b.t.Fatalf("a page does not know the patch %v", p)
	}
}

func parseIn(in *html.Node, s string) []*html.Node {
	nodes, _ := html.ParseFragment(strings.NewReader(s), in)
	return nodes
}

func (b *tab) id(id string) *html.Node {
	if id == "" {
		return nil
	}
	return find(b.doc, func(n *html.Node) bool { return attr(n, "id") == id })
}

func find(n *html.Node, is func(*html.Node) bool) *html.Node {
	if n.Type == html.ElementNode && is(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if f := find(c, is); f != nil {
			return f
		}
	}
	return nil
}

func attr(n *html.Node, name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// html returns an element's HTML with whitespace folded, because it is not visible.
func (b *tab) html(id string) string {
	el := b.id(id)
	if el == nil {
		return ""
	}
	var out strings.Builder
	_ = html.Render(&out, el)
	return strings.Join(strings.Fields(out.String()), " ")
}

func (b *tab) text(id string) string {
	var out strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	if el := b.id(id); el != nil {
		walk(el)
	}
	return out.String()
}
