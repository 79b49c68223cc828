package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// hardened is a whole program in this process, with a session in every state and a signed-in
// visitor.
type hardened struct {
	*app
	t     *testing.T
	url   string
	log   *lockedLog
	owner string // cookie
	guest string
	link  string // the guest's token
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func harden(t *testing.T) *hardened {
	t.Helper()
	data := isolate(t)
	t.Setenv("AHPHUB_TOKEN", canaryToken)
	t.Setenv(secretVariable, canarySecret)
	repo := filepath.Join(t.TempDir(), "greeter")
	if err := sampleRepository(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Listen: "127.0.0.1:0", Data: data, Dir: repo, Agent: script.Provider, OwnerName: "Ana",
		LogFormat: "text", LogLevel: "debug", demo: true,
		OIDC: oidcConfig{Issuer: "http://127.0.0.1:1", ClientID: "ahphub", Allow: []string{"anyone=viewer"},
			Name: "Example"}}
	h := &hardened{t: t, log: &lockedLog{}}
	h.serve(cfg)
	h.owner = h.cookie(h.do("POST", "/signin", "token="+h.oneTime()))
	return h
}

// serve does the same as run, with access for tests.
func (h *hardened) serve(cfg Config) {
	t := h.t
	t.Helper()
	set, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: "test"})
	if h.app, err = build(t.Context(), cfg, set, l, newLog(h.log, cfg.LogFormat, cfg.LogLevel, tel.Hidden,
		tel.Handler()),
		tel, nil); err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, ended := &lockedLog{}, make(chan error, 1)
	go func() {
		ended <- h.app.serve(ctx, func(ctx context.Context) error { return h.app.announce(ctx, out) },
			func(ctx context.Context) error { return h.app.web.Serve(ctx, l) })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.app.close(); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), "key_file="); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not start: %s", h.log)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (h *hardened) oneTime() string {
	h.t.Helper()
	token, err := h.signIn.New()
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// do makes one request without following redirects; headers as "Name: value", anything else is a
// form.
func (h *hardened) do(method, path string, more ...string) *http.Response {
	h.t.Helper()
	var body io.Reader
	if i := slices.IndexFunc(more, func(s string) bool { return !strings.Contains(s, ": ") }); i >= 0 {
		body = strings.NewReader(more[i])
		more = slices.Delete(slices.Clone(more), i, i+1)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, head := range more {
		k, v, _ := strings.Cut(head, ": ")
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Add(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	b := []byte{}
	switch {
	case res.StatusCode == http.StatusSwitchingProtocols:
	case res.Header.Get("Content-Type") == "text/event-stream": // it never ends
		b = readEvent(res.Body)
	default:
		b, _ = io.ReadAll(res.Body)
	}
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(b))
	return res
}

// readEvent reads the first event of a stream.
func readEvent(r io.Reader) []byte {
	var b []byte
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		b = append(b, line...)
		if err != nil || len(line) == 1 && len(b) > 1 {
			return b
		}
	}
}

func read(res *http.Response) string {
	b, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(b))
	return string(b)
}

func (h *hardened) cookie(res *http.Response) string {
	h.t.Helper()
	if len(res.Cookies()) == 0 {
		h.t.Fatalf("no cookie came with %s: %s", res.Status, read(res))
	}
	c := res.Cookies()[0]
	return "Cookie: " + c.Name + "=" + c.Value
}

// shorts returns the ids of the sessions.
func (h *hardened) shorts() (all []string) {
	for _, s := range h.host.Summaries(core.Caller{Principal: access.Owner("")}) {
		all = append(all, core.ShortID(s.Resource))
	}
	return all
}

// invite makes a link for a session, and a guest of it.
func (h *hardened) invite(short string) {
	h.t.Helper()
	made := h.do("POST", "/s/"+short+"/share", h.owner, "role=commenter&expires=24h")
	_, token, ok := strings.Cut(read(made), "/j#")
	if !ok {
		h.t.Fatalf("no link was made: %s", made.Status)
	}
	h.link, _, _ = strings.Cut(token, `"`)
	h.guest = h.cookie(h.do("POST", "/j", "name=Ben&token="+h.link))
}

type route struct{ method, pattern, path string }

// routes returns all routes of the server, each with a path of one of this host's sessions.
func (h *hardened) routes() (all []route) {
	h.t.Helper()
	short := h.shorts()[0]
	fill := strings.NewReplacer("{session}", short, "{chat}", "default", "{terminal}", "1", "{file}", "1", "{thread}",
		"1", "{verb}", "reply", "*", "x")
	named := regexp.MustCompile(`\{[^}]+\}`)
	err := chi.Walk(h.web.Routes(), func(method, pattern string, _ http.Handler,
		_ ...func(http.Handler) http.Handler) error {
		all = append(all, route{method, pattern, named.ReplaceAllString(fill.Replace(pattern), "1")})
		return nil
	})
	if err != nil || len(all) < len(access.Routes())+10 {
		h.t.Fatalf("%d routes: %v", len(all), err)
	}
	return all
}

// settle waits until one of the demo's sessions asks for an approval.
func (h *hardened) settle() {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		for _, s := range h.host.Summaries(core.Caller{Principal: access.Owner("")}) {
			if s.Status&ahp.SessionStatusInputNeeded == ahp.SessionStatusInputNeeded {
				return
			}
		}
		if time.Now().After(deadline) {
			h.t.Fatal("no session of the demo waits for anybody")
		}
	}
}

func (h *hardened) files(visit func(path string, mode fs.FileMode, content []byte)) {
	h.t.Helper()
	err := filepath.WalkDir(h.cfg.Data, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // git's temporary files
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var b []byte
		if info.Mode().IsRegular() {
			if b, err = os.ReadFile(path); os.IsNotExist(err) {
				return nil
			}
		}
		visit(path, info.Mode(), b)
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}
