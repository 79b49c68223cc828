package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/web"
)

const canary = "canary-4be91c"

// heard is everything that a client received, by source.
type heard struct {
	mu   sync.Mutex
	all  []string
	size int
}

func (h *heard) note(from string, b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.size += len(b)
	if strings.Contains(string(b), canary) {
		h.all = append(h.all, fmt.Sprintf("%s: %.600s", from, b))
	}
}

func (h *heard) bytes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.size
}

func (h *heard) canaries() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

// A session hidden from a guest is full of one word; nothing sent to the guest by the endpoint or
// pages contains it: root, lists, snapshots, replay, notifications, live patches, errors.
func TestNoLeakToAGuest(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	ownerHeard, guestHeard := &heard{}, &heard{}
	owner := dialHeard(t, ctx, prog, prog.Token(), ownerHeard)
	mine, theirs := newOverProtocol(t, ctx, owner), secretSession(t, ctx, owner)
	c, _ := signIn(t, prog.SignIn())
	short := shortOf(t, c, prog, mine)
	token := linkOver(t, c, prog, short, "commenter")

	guest := dialHeard(t, ctx, prog, token, guestHeard)
	if err := guest.Subscribe(ctx, mine); err != nil {
		t.Fatal(err)
	}
	web := cookieFor(t, prog, token)
	stream := liveOver(t, ctx, prog, web, short, guestHeard)

	chat := fillWithCanary(t, ctx, owner, theirs)
	askAboutOthers(ctx, guest, theirs, chat)
	guest.Drop()
	if _, err := owner.Dispatch(ctx, theirs, &ahp.SessionTitleChangedAction{Title: canary +
		" while away"}); err != nil {
		t.Fatal(err)
	}
	if _, err := guest.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	visitAll(t, web, prog, short, core.ShortID(theirs), guestHeard)
	visitAll(t, c, prog, short, core.ShortID(theirs), ownerHeard)

	// The guest's own session changes last, so everything before it has arrived.
	if _, err := owner.Dispatch(ctx, mine, &ahp.SessionTitleChangedAction{Title: "the end of it"}); err != nil {
		t.Fatal(err)
	}
	if err := guest.Wait(ctx, func() bool {
		s, _ := guest.State(mine).(*ahp.SessionState)
		return s != nil && s.Title == "the end of it"
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-stream; err != nil {
		t.Error("the live page never showed the end:", err)
	}
	for _, s := range guestHeard.canaries() {
		t.Errorf("a guest was sent something of another session by %s", s)
	}
	if n := len(ownerHeard.canaries()); n < 10 {
		t.Errorf("the owner met the word %d times only: this test looks in the wrong places", n)
	}
	if n := guestHeard.bytes(); n < 10_000 {
		t.Errorf("the guest was sent %d bytes: this test looks in the wrong places", n)
	}
}

func dialHeard(t *testing.T, ctx context.Context, prog *Program, token string, h *heard) *peer.Peer {
	t.Helper()
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: uuid.NewString(),
		OnFrame: func(b []byte) { h.note("the endpoint", b) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	return p
}

// secretSession creates a session whose directory has the word in its path.
func secretSession(t *testing.T, ctx context.Context, p *peer.Peer) ahp.URI {
	t.Helper()
	dir := filepath.Join(t.TempDir(), canary)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	uri := ahp.URI("ahp-session:/" + uuid.NewString())
	err := p.Call(ctx, "createSession", map[string]any{"channel": uri, "workingDirectories": []string{"file://" + dir}},
		nil)
	if err == nil {
		err = p.Subscribe(ctx, uri)
	}
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

// fillWithCanary makes events of every kind happen in a session, and returns its chat.
func fillWithCanary(t *testing.T, ctx context.Context, p *peer.Peer, session ahp.URI) ahp.URI {
	t.Helper()
	state := func() *ahp.SessionState { s, _ := p.State(session).(*ahp.SessionState); return s }
	if err := p.Wait(ctx, func() bool { return state() != nil && state().DefaultChat != "" }); err != nil {
		t.Fatal(err)
	}
	chat := state().DefaultChat
	if err := p.Subscribe(ctx, chat); err != nil {
		t.Fatal(err)
	}
	terminal := ahp.URI("ahp-terminal:/" + uuid.NewString())
	err := p.Call(ctx, "createTerminal", map[string]any{"channel": terminal, "name": canary,
		"claim": map[string]any{"kind": "session", "session": session, "chat": chat}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: canary}); err != nil {
		t.Fatal(err)
	}
	automate(t, ctx, p)
	orders := strings.Join([]string{"say " + canary, "think " + canary, "notice " + canary, "run echo " + canary}, "\n")
	turn := &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), Message: ahp.Message{Text: orders,
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	if _, err := p.Dispatch(ctx, chat, turn); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(ctx, func() bool {
		s, _ := p.State(chat).(*ahp.ChatState)
		raw, _ := ahp.Marshal(s)
		return strings.Contains(string(raw), `"toolCallId"`)
	}); err != nil {
		t.Fatal("the secret session never came to its command:", err)
	}
	return chat
}

// automate creates an automation full of the word, with a run whose session is too.
func automate(t *testing.T, ctx context.Context, p *peer.Peer) {
	t.Helper()
	definition := ahp.AutomationDefinition{Title: canary, Message: ahp.Message{Text: "say " + canary,
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAutomation}},
		Triggers: []ahp.AutomationTrigger{}}
	err := p.Subscribe(ctx, ahp.AutomationsURI)
	if err == nil {
		_, err = p.Dispatch(ctx, ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: secretAutomation,
			Definition: definition})
	}
	if err == nil {
		err = p.Call(ctx, "runAutomation", ahp.RunAutomationParams{Channel: ahp.AutomationsURI,
			Automation: secretAutomation, RequestID: canary}, nil)
	}
	if err == nil {
		err = p.Wait(ctx, func() bool {
			s, _ := p.State(ahp.AutomationsURI).(*ahp.AutomationState)
			return s != nil && len(s.Entries) == 1 && len(s.Entries[0].Runs) == 1 &&
				s.Entries[0].Runs[0].PrimarySession != ""
		})
	}
	if err != nil {
		t.Fatal("the secret automation:", err)
	}
}

const secretAutomation ahp.URI = "ahp-automation:/" + canary

// askAboutOthers tries all requests about another session; errors are expected.
func askAboutOthers(ctx context.Context, p *peer.Peer, session, chat ahp.URI) {
	for _, uri := range []ahp.URI{session, chat, "ahp-otlp:/logs/trace", "ahp-otlp:/traces", "ahp-otlp:/metrics",
		session + "/changes", session + "/annotations"} {
		_ = p.Subscribe(ctx, uri)
		_ = p.Call(ctx, "fetchTurns", map[string]any{"channel": uri}, nil)
		_ = p.Call(ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": "file:///" + string(uri)}, nil)
		_ = p.Call(ctx, "disposeSession", map[string]any{"channel": uri}, nil)
		_, _ = p.Dispatch(ctx, uri, &ahp.SessionTitleChangedAction{Title: "x"})
	}
	_ = p.Subscribe(ctx, ahp.AutomationsURI)
	_ = p.Call(ctx, "runAutomation", ahp.RunAutomationParams{Channel: ahp.AutomationsURI, Automation: secretAutomation,
		RequestID: "theirs"}, nil)
	_ = p.Call(ctx, "fetchAutomationRuns", ahp.FetchAutomationRunsParams{Channel: ahp.AutomationsURI,
		Automation: secretAutomation}, nil)
	_, _ = p.Dispatch(ctx, ahp.AutomationsURI, &ahp.AutomationRemovedAction{Resource: secretAutomation})
	_ = p.Call(ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, nil)
	_ = p.Call(ctx, "createSession", map[string]any{"channel": session}, nil)
}

// visitAll requests every page for both sessions.
func visitAll(t *testing.T, c *http.Client, prog *Program, mine, theirs string, h *heard) {
	t.Helper()
	r := chi.NewRouter()
	p := pages.New(pages.Deps{})
	defer p.Close()
	web.PageRoutes{Pages: p}.Routes(r)
	_ = chi.Walk(r, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if route == "/live" || route == "/notifications/stream" { // these do not end
			return nil
		}
		for _, short := range []string{mine, theirs} {
			path := strings.NewReplacer("{session}", short, "{chat}", "default", "{terminal}", "1", "{file}", "1",
				"{thread}", "1", "{verb}", "reply", "{link}", "1").Replace(route)
			res, err := askFor(c, method, prog.URL+path)
			if err != nil {
				t.Error(err)
				continue
			}
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			h.note(method+" "+path+" "+res.Status, b)
		}
		return nil
	})
}

func askFor(c *http.Client, method, address string) (*http.Response, error) {
	if method == http.MethodGet {
		return c.Get(address)
	}
	if strings.HasSuffix(address, "/new") || strings.HasSuffix(address, "/title") ||
		strings.HasSuffix(address, "/archive") {
		address += "?" // empty forms of the owner change nothing
	}
	return c.PostForm(address, nil)
}

// liveOver opens a page of the session and reads its stream until it shows the end.
func liveOver(t *testing.T, ctx context.Context, prog *Program, c *http.Client, short string, h *heard) <-chan error {
	t.Helper()
	res, err := c.Get(prog.URL + "/s/" + short)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	h.note("the page", b)
	_, rest, _ := strings.Cut(string(b), `data-live="`)
	query, _, ok := strings.Cut(rest, `"`)
	if !ok || query == "" {
		t.Fatalf("the page has no stream: %s", res.Status)
	}
	u, _ := url.Parse(prog.URL)
	head := http.Header{"Origin": {prog.URL}}
	for _, k := range c.Jar.Cookies(u) {
		head.Add("Cookie", k.String())
	}
	ws, _, err := websocket.Dial(ctx, strings.Replace(prog.URL, "http", "ws", 1)+"/live?"+strings.ReplaceAll(query,
		"&amp;", "&"),
		&websocket.DialOptions{HTTPHeader: head})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	done := make(chan error, 1)
	go func() {
		for {
			_, b, err := ws.Read(ctx)
			if err == nil {
				h.note("a live patch", b)
			}
			if err != nil || strings.Contains(string(b), "the end of it") {
				done <- err
				return
			}
		}
	}()
	return done
}
