package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/alexedwards/argon2id"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/people"
)

const ownerToken = "the owner's own long secret"

// memory is the store of links and cookies.
type memory struct {
	mu   sync.Mutex
	docs map[string][]byte
}

func (m *memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.docs[bucket+"\x00"+key] = v
	return nil
}

func (m *memory) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.docs[bucket+"\x00"+key]
	return v, ok, nil
}

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, bucket+"\x00"+key)
	return nil
}

func (m *memory) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, v := range m.docs {
		if b, key, _ := strings.Cut(k, "\x00"); b == bucket {
			if err := visit(key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

type fakeAssets struct{}

// Content returns the stored bytes of a file.
func (fakeAssets) Content(name string) []byte {
	return []byte("icon of " + name + " is /assets/push-icon")
}

func (fakeAssets) Path(name string) string    { return "/assets/0/" + name }
func (fakeAssets) Imports(...string) []string { return nil }
func (fakeAssets) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, "asset")
}

// fakePages answers with the principal; /live stays open until its context ends.
type fakePages struct{ ended chan error }

func (p fakePages) Routes(r chi.Router) {
	show := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, access.FromContext(r.Context()).ID)
	}
	r.Get("/", show)
	r.Get("/s/{session}", show)
	r.Get("/s/{session}/t/{terminal}/frame", show)
	r.Get("/new", func(http.ResponseWriter, *http.Request) { panic("a bug") })
	r.Get("/s/{session}/c/{chat}", show)
	r.Get("/s/{session}/changes", show)
	r.Get("/s/{session}/t", show)
	r.Get("/account", show)
	r.Post("/account/password", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("current") != "right" {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	r.Get("/undecided", show)
	r.Get("/live", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ":\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		p.ended <- context.Cause(r.Context())
	})
}

func (fakePages) NotFound(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

type fakeSessions struct{}

func (fakeSessions) SessionByShort(short string) (ahp.URI, bool) {
	return "ahp-session:/" + short, short == "mine" || short == "theirs"
}

// site is a running server with the internals that tests need.
type site struct {
	*httptest.Server
	t     *testing.T
	s     *Server
	links *access.Links

	personal  *access.Personal
	members   *access.Members
	passwords *people.Passwords

	signIn access.SignIn
	once   *access.SignIns
	log    *lockedBuffer
	pages  fakePages
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newSite(t *testing.T, change func(*Config)) *site {
	t.Helper()
	store := &memory{docs: map[string][]byte{}}
	links, err := access.OpenLinks(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	personal, err := access.OpenPersonal(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	members, err := access.OpenMembers(t.Context(), store, "Olu")
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, personal: personal, members: members,
		passwords: &people.Passwords{Store: store,
			Params: &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}},
		links: links,
		log:   &lockedBuffer{}, pages: fakePages{make(chan error, 4)},
		signIn: access.SignIn{Dir: filepath.Join(t.TempDir(), "signin")}}
	if x.once, err = access.OpenSignIns(t.Context(), store, x.signIn); err != nil {
		t.Fatal(err)
	}
	cookies, err := people.New(people.Config{Store: store, Key: bytes.Repeat([]byte("k"), 32)})
	if err != nil {
		t.Fatal(err)
	}
	rpc := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, access.FromContext(r.Context()).ID, " ", r.URL.RawQuery)
	})
	root := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "root "); rpc(w, r) })
	cfg := Config{Pages: x.pages, RPC: rpc, RootRPC: root, Assets: fakeAssets{}, Sessions: fakeSessions{},
		Short:  func(u ahp.URI) string { return strings.TrimPrefix(u, "ahp-session:/") },
		Title:  func(u ahp.URI, _ access.Scope) string { return "Title of " + strings.TrimPrefix(u, "ahp-session:/") },
		Tokens: access.NewTokens(access.OwnerSecret{Token: ownerToken}, "Olu", links, x.personal), Links: links,
		Members: members, SignIn: x.once, Cookies: cookies, Owner: access.Owner("Olu"),
		Passwords: x.passwords, Passkeys: &people.Passkeys{Store: store},
		Log: slog.New(slog.NewTextHandler(x.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&cfg)
	}
	if x.s, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	x.Server = httptest.NewServer(x.s)
	t.Cleanup(x.Server.Close)
	return x
}

// ask makes one request: "METHOD /path", then headers as "Name: value", a form as "k=v&k=v".
func (x *site) ask(what string, more ...string) *http.Response {
	x.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	var body io.Reader
	var headers []string
	for _, m := range more {
		if strings.Contains(m, ": ") {
			headers = append(headers, m)
		} else {
			body = strings.NewReader(m)
		}
	}
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.URL+path, body)
	if err != nil {
		x.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Add(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { res.Body.Close() })
	return res
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func cookieOf(t *testing.T, res *http.Response) string {
	t.Helper()
	for _, c := range res.Cookies() {
		return "Cookie: " + c.Name + "=" + c.Value
	}
	t.Fatalf("no cookie came with %s: %s", res.Status, text(t, res))
	return ""
}

// owner signs in and returns the cookie.
func (x *site) owner() string {
	x.t.Helper()
	token, err := x.signIn.New()
	if err != nil {
		x.t.Fatal(err)
	}
	return cookieOf(x.t, x.ask("POST /signin", "token="+token))
}

// guest joins a session by a new link and returns the cookie and the link.
func (x *site) guest(role access.Role) (cookie, token string, link access.Link) {
	x.t.Helper()
	token, link, err := x.links.New(x.t.Context(), access.Link{Session: "ahp-session:/mine", Role: role})
	if err != nil {
		x.t.Fatal(err)
	}
	return cookieOf(x.t, x.ask("POST /j", "name=Ana&token="+token)), token, link
}
