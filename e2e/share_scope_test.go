package e2e

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
	"github.com/ahphub/ahphub/web"
)

// halves is a session with two chats: a shared one, and one that is full of the word, like
// everything else.
type halves struct {
	t       *testing.T
	ctx     context.Context
	owner   *peer.Peer
	session ahp.URI
	short   string

	ours, theirs       ahp.URI // chats
	ourTurn, theirTurn string
	ourThread          string
	theirTerminal      ahp.URI
	theirBlob, ourBlob ahp.URI // versions of files
	ourFile, theirFile string  // their keys in pages
	ourFileURI         ahp.URI
}

func newHalves(t *testing.T, ctx context.Context, owner *peer.Peer) *halves {
	t.Helper()
	h := &halves{t: t, ctx: ctx, owner: owner, session: "ahp-session:/" + uuid.NewString()}
	h.call("createSession", map[string]any{"channel": h.session, "workingDirectories": []string{"file://" +
		t.TempDir()}})
	h.short = core.ShortID(h.session)
	h.follow(h.session, h.session+"/annotations")
	state := func() *ahp.SessionState { s, _ := owner.State(h.session).(*ahp.SessionState); return s }
	h.until("its default chat", func() bool { return state() != nil && state().DefaultChat != "" })
	h.ours, h.theirs = state().DefaultChat, "ahp-chat:/"+uuid.NewString()
	h.call("createChat", map[string]any{"channel": h.session, "chat": h.theirs})
	h.follow(h.ours, h.theirs)
	h.do(h.session, &ahp.SessionConfigChangedAction{Config: ahp.Meta{"approval": []byte(`"auto"`)}})
	h.ourTurn = h.say(h.ours, "say hello from ours\nwrite ours.txt a line of ours\nrun echo ours")
	h.fill()
	h.ourThread = h.comment("ours.txt", "about ours", ahp.AnnotationOrigin{Session: h.session, Chat: h.ours,
		TurnID: h.ourTurn})
	h.ourFileURI, h.ourBlob, h.ourFile = h.changed(h.ourTurn)
	_, h.theirBlob, h.theirFile = h.changed(h.theirTurn)
	return h
}

// fill puts the word everywhere except in the shared chat and its changes.
func (h *halves) fill() {
	h.do(h.session, &ahp.SessionTitleChangedAction{Title: canary})
	h.theirTerminal = "ahp-terminal:/" + uuid.NewString()
	h.call("createTerminal", map[string]any{"channel": h.theirTerminal, "name": canary,
		"claim": map[string]any{"kind": "session", "session": h.session, "chat": h.theirs}})
	h.call("createTerminal", map[string]any{"channel": "ahp-terminal:/" + uuid.NewString(), "name": canary,
		"claim": map[string]any{"kind": "session", "session": h.session}})
	h.theirTurn = h.say(h.theirs,
		strings.ReplaceAll("say WORD\nthink WORD\nnotice WORD\nwrite WORD.txt WORD\nrun echo WORD", "WORD", canary))
	h.comment(canary+".txt", canary, ahp.AnnotationOrigin{Session: h.session, Chat: h.theirs, TurnID: h.theirTurn})
	h.comment(canary+".txt", canary, ahp.AnnotationOrigin{Session: h.session})
}

func (h *halves) call(method string, params any) {
	h.t.Helper()
	if err := h.owner.Call(h.ctx, method, params, nil); err != nil {
		h.t.Fatalf("%s: %v", method, err)
	}
}

func (h *halves) follow(uris ...ahp.URI) {
	h.t.Helper()
	for _, u := range uris {
		if err := h.owner.Subscribe(h.ctx, u); err != nil {
			h.t.Fatalf("%s: %v", u, err)
		}
	}
}

func (h *halves) do(channel ahp.URI, a ahp.Action) {
	h.t.Helper()
	if _, err := h.owner.Dispatch(h.ctx, channel, a); err != nil {
		h.t.Fatal(err)
	}
}

func (h *halves) until(what string, is func() bool) {
	h.t.Helper()
	if err := h.owner.Wait(h.ctx, is); err != nil {
		h.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// say runs a turn to its end.
func (h *halves) say(chat ahp.URI, orders string) (turn string) {
	h.t.Helper()
	turn = uuid.NewString()
	h.do(chat, &ahp.ChatTurnStartedAction{TurnID: turn, Message: ahp.Message{Text: orders,
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}})
	h.until("a turn's end", func() bool {
		s, _ := h.owner.State(chat).(*ahp.ChatState)
		return s != nil && s.ActiveTurn == nil && len(s.Turns) > 0 && s.Turns[len(s.Turns)-1].ID == turn
	})
	return turn
}

// comment starts a thread and waits for it.
func (h *halves) comment(file, text string, origin ahp.AnnotationOrigin) string {
	h.t.Helper()
	uri := h.session + "/annotations"
	s, _ := h.owner.State(h.session).(*ahp.SessionState)
	id := uuid.NewString()
	h.do(uri, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: id, Origin: origin,
		Resource: s.WorkingDirectories[0] + "/" + file, Entries: []ahp.AnnotationEntry{{ID: uuid.NewString(),
			Text: ahp.Plain(text)}}}})
	h.until("a comment", func() bool { return hasThread(h.owner, uri, id, text) })
	return id
}

func hasThread(p *peer.Peer, uri ahp.URI, id, text string) bool {
	s, _ := p.State(uri).(*ahp.AnnotationsState)
	if s == nil {
		return false
	}
	for _, a := range s.Annotations {
		for _, e := range a.Entries {
			if a.ID == id && e.Text.Text == text {
				return true
			}
		}
	}
	return false
}

func (h *halves) changeset(turn string) ahp.URI {
	return "ahp-changeset:/" + h.short + "/turn/" + url.PathEscape(turn)
}

// changed returns the only file of a turn's changeset: its URI, that of its content, and its key in
// pages.
func (h *halves) changed(turn string) (file, blob ahp.URI, key string) {
	h.t.Helper()
	uri := h.changeset(turn)
	h.follow(uri)
	state := func() *ahp.ChangesetState { s, _ := h.owner.State(uri).(*ahp.ChangesetState); return s }
	h.until("what a turn changed", func() bool {
		return state() != nil && state().Status == ahp.ChangesetStatusReady && len(state().Files) == 1
	})
	f := state().Files[0]
	return f.ID, f.Edit.After.Content.URI, part.DiffKey(f.ID)
}

// A guest of one chat, and one of one changeset, get nothing else of the session: not from the
// endpoint in root, lists, snapshots, replay, notifications and errors, nor from pages and their
// live patches.
func TestNoLeakToAGuestOfAPart(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	c, _ := signIn(t, prog.SignIn())
	for _, test := range []struct {
		name   string
		part   func(h *halves) string  // its name on the share page
		shared func(h *halves) ahp.URI // the channel
		role   string
	}{
		{"chat", func(h *halves) string { return "chat:" + part.Tail(h.ours) },
			func(h *halves) ahp.URI { return h.ours }, "driver"},
		{"changes", func(h *halves) string { return "changes:turn." + h.ourTurn },
			func(h *halves) ahp.URI { return h.changeset(h.ourTurn) }, "commenter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			ownerHeard, guestHeard := &heard{}, &heard{}
			h := newHalves(t, ctx, dialHeard(t, ctx, prog, prog.Token(), ownerHeard))
			if test.name == "chat" { // about a file of the chat's turn, not about the turn
				h.comment("ours.txt", canary, ahp.AnnotationOrigin{Session: h.session})
			}
			token := partLink(t, c, prog, h.short, test.role, test.part(h))
			guest := dialHeard(t, ctx, prog, token, guestHeard)
			for _, uri := range []ahp.URI{h.session, test.shared(h), h.session + "/annotations"} {
				if err := guest.Subscribe(ctx, uri); err != nil {
					t.Fatalf("%s: %v", uri, err)
				}
			}
			if !hasThread(guest, h.session+"/annotations", h.ourThread, "about ours") {
				t.Error("the guest misses the thread that is theirs to see")
			}
			s, _ := guest.State(h.session).(*ahp.SessionState)
			if a := s.Annotations; a == nil || a.Resource != h.session+"/annotations" || a.AnnotationCount != 1 ||
				a.EntryCount != 1 { // AHP requirement 159
				t.Errorf("the guest sees one thread with one comment, and the session says %+v", a)
			}
			web := cookieFor(t, prog, token)
			stream := liveOver(t, ctx, prog, web, h.short, guestHeard)

			h.fill()
			h.refused(guest)
			guest.Drop()
			h.fill()
			if _, err := guest.Reconnect(ctx); err != nil {
				t.Fatal(err)
			}
			h.visit(web, prog, guestHeard)
			h.visit(c, prog, ownerHeard)

			h.theEnd(test.name, guest)
			if err := <-stream; err != nil {
				t.Error("the live page never showed the end:", err)
			}
			for _, s := range guestHeard.canaries() {
				t.Errorf("a guest was sent something of another part by %s", s)
			}
			if n := len(ownerHeard.canaries()); n < 50 {
				t.Errorf("the owner met the word %d times only: this test looks in the wrong places", n)
			}
			if n := guestHeard.bytes(); n < 50_000 {
				t.Errorf("the guest was sent %d bytes: this test looks in the wrong places", n)
			}
		})
	}
}

// theEnd makes a visible change last, so that everything before it has arrived.
func (h *halves) theEnd(part string, guest *peer.Peer) {
	h.t.Helper()
	seen := func() bool {
		s, _ := guest.State(h.ours).(*ahp.ChatState)
		raw, _ := ahp.Marshal(s)
		return strings.Contains(string(raw), "the end of it")
	}
	if part == "changes" {
		id := h.comment("ours.txt", "the end of it", ahp.AnnotationOrigin{Session: h.session})
		seen = func() bool { return hasThread(guest, h.session+"/annotations", id, "the end of it") }
	} else {
		h.say(h.ours, "say the end of it")
	}
	if err := guest.Wait(h.ctx, seen); err != nil {
		h.t.Fatal("the guest never heard the end:", err)
	}
}

// refused tries everything outside of the guest's part, and the files themselves.
func (h *halves) refused(guest *peer.Peer) {
	h.t.Helper()
	hidden := []ahp.URI{h.theirs, h.theirTerminal, h.changeset(h.theirTurn), changes.CompareURI(h.session, h.ourTurn,
		h.theirTurn),
		"ahp-changeset:/" + h.short + "/session", "ahp-changeset:/" + h.short + "/uncommitted", "ahp-otlp:/logs"}
	askAboutOthers(h.ctx, guest, h.session, h.theirs)
	for _, uri := range hidden {
		if err := guest.Subscribe(h.ctx, uri); err == nil {
			h.t.Errorf("a guest follows %s", uri)
		}
		_ = guest.Call(h.ctx, "fetchTurns", map[string]any{"channel": uri}, nil)
		_ = guest.Call(h.ctx, "completions", map[string]any{"channel": uri, "kind": "userMessage", "text": "@",
			"offset": 1}, nil)
	}
	_, query, _ := strings.Cut(h.theirBlob, "?") // errors repeat the request
	for _, uri := range []ahp.URI{"ahp-blob:/x?" + query, "ahp-blob:/?" + query, h.ourFileURI} {
		if err := guest.Call(h.ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": uri},
			nil); err == nil {
			h.t.Errorf("a guest reads %s", uri)
		}
	}
	if err := guest.Call(h.ctx, "createChat", map[string]any{"channel": h.session, "chat": "ahp-chat:/" +
		uuid.NewString()}, nil); err == nil {
		h.t.Error("a guest makes a chat they would not see")
	}
	for _, a := range []ahp.Action{
		&ahp.SessionTitleChangedAction{Title: "taken"},
		&ahp.SessionActiveClientSetAction{ActiveClient: ahp.SessionActiveClient{ClientID: "x",
			Tools: []ahp.ToolDefinition{}}},
	} {
		_, _ = guest.Dispatch(h.ctx, h.session, a)
	}
	annotations := h.session + "/annotations"
	_, _ = guest.Dispatch(h.ctx, annotations, &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: uuid.NewString(),
		Resource: h.ourFileURI + "x", Origin: ahp.AnnotationOrigin{Session: h.session, Chat: h.theirs,
			TurnID: h.theirTurn}, Entries: []ahp.AnnotationEntry{{ID: "e", Text: ahp.Plain("guest was here")}}}})
	h.read(guest) // follows everything sent before
	if s, _ := h.owner.Fresh(h.ctx, annotations); strings.Contains(string(marshal(h.t, s)), "guest was here") {
		h.t.Error("a guest started a thread on what they do not see")
	}
	st, err := h.owner.Fresh(h.ctx, h.session)
	if s, ok := st.(*ahp.SessionState); !ok || s.Title != canary || len(s.ActiveClients) != 0 {
		h.t.Errorf("a guest of a part changed the session (%v)", err)
	}
}

func marshal(t *testing.T, s ahp.State) []byte {
	t.Helper()
	b, err := ahp.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read gets what the guest's part refers to.
func (h *halves) read(guest *peer.Peer) {
	h.t.Helper()
	var got ahp.ResourceReadResult
	if err := guest.Call(h.ctx, "resourceRead", map[string]any{"channel": ahp.RootURI, "uri": h.ourBlob},
		&got); err != nil {
		h.t.Errorf("a version the guest is shown cannot be read: %v", err)
	}
	var list ahp.ListSessionsResult
	if err := guest.Call(h.ctx, "listSessions", ahp.ListSessionsParams{Channel: ahp.RootURI}, &list); err != nil ||
		len(list.Items) != 1 {
		h.t.Errorf("the guest lists %v, %v", list.Items, err)
	}
}

// visit requests every page and form with everything in the session.
func (h *halves) visit(c *http.Client, prog *Program, to *heard) {
	h.t.Helper()
	r := chi.NewRouter()
	p := pages.New(pages.Deps{})
	defer p.Close()
	web.PageRoutes{Pages: p}.Routes(r)
	scopes := []string{"", "session", "uncommitted", "branch", "turn", "turn." + h.ourTurn, "turn." + h.theirTurn,
		"compare." + h.ourTurn + ".." + h.theirTurn, "chat." + core.ShortID(h.theirs) + ".session"}
	_ = chi.Walk(r, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		switch route { // the owner's would archive the session, or have its agent repeat what was said
		case "/s/{session}/archive", "/s/{session}/verdict":
			return nil
		}
		if !strings.HasPrefix(route, "/s/{session}") {
			return nil
		}
		for _, path := range h.paths(route, scopes) {
			var res *http.Response
			var err error
			if method == http.MethodGet {
				res, err = c.Get(prog.URL + path)
			} else {
				res, err = c.PostForm(prog.URL+path, url.Values{})
			}
			if err != nil {
				h.t.Error(err)
				continue
			}
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			to.note(method+" "+path+" "+res.Status, b)
		}
		return nil
	})
}

// paths returns the addresses of a route.
func (h *halves) paths(route string, scopes []string) (out []string) {
	fill := func(chat ahp.URI, file, turn string) string {
		return strings.NewReplacer("{session}", h.short, "{chat}", part.Tail(chat), "{terminal}",
			part.Tail(h.theirTerminal), "{file}", file,
			"{thread}", h.ourThread, "{verb}", "nothing", "{link}", "1", "{call}", "1", "{command}", "1", "{turn}",
			turn, "{n}", "0").Replace(route)
	}
	for _, path := range []string{fill(h.ours, h.ourFile, h.ourTurn), fill(h.theirs, h.theirFile, h.theirTurn)} {
		out = append(out, path, path+"?as=md", path+"?pane=changes")
		if strings.Contains(route, "/changes") || strings.Contains(route, "/threads") {
			for _, s := range scopes {
				q := url.Values{"scope": {s}, "file": {h.theirFile}, "from": {"1"}, "to": {"2"}, "at": {"R1"}}
				out = append(out, path+"?"+q.Encode(), path+"?as=patch&comments=1&"+q.Encode())
			}
		}
	}
	return out
}
