package notify

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/secret"
)

const (
	session     = "ahp-session:/one"
	chat        = "ahp-chat:/one"
	annotations = session + "/annotations"
	publicURL   = "https://hub.example.com"
)

// memory is a store that outlives a notifier.
type memory struct {
	mu   sync.Mutex
	docs map[string]map[string][]byte
	keys *secret.Keys
}

func newMemory() *memory { return &memory{docs: map[string]map[string][]byte{}} }

func (m *memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.docs[bucket] == nil {
		m.docs[bucket] = map[string][]byte{}
	}
	m.docs[bucket][key] = v
	return nil
}

func (m *memory) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.docs[bucket][key]
	return v, ok, nil
}

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs[bucket], key)
	return nil
}

func (m *memory) Each(ctx context.Context, bucket string, visit func(string, []byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	docs := maps.Clone(m.docs[bucket])
	m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(docs)) {
		if err := visit(key, docs[key]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) count(bucket string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.docs[bucket])
}

// openKeys returns the keys of the store.
func (m *memory) openKeys(t testing.TB) *secret.Keys {
	t.Helper()
	if m.keys == nil {
		var err error
		if m.keys, err = secret.OpenKeys(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return m.keys
}

// posted is a request as a receiver saw it.
type posted struct {
	at      time.Time
	url     string
	header  http.Header
	body    payload
	rawBody string
}

// world is a hub with a notifier and its peers, for a synctest bubble.
type world struct {
	t      *testing.T
	hub    *hub.Hub
	n      *Notifier
	store  *memory
	review review.Review
	people map[string]access.Principal
	left   map[string]bool // signed-out browsers
	pushes http.Handler    // a push service; nil: none is there

	mu      sync.Mutex
	posts   []posted
	answer  func(n int) (status int, header http.Header) // by the number of earlier posts; nil: 200
	letters []Letter
	mailed  []time.Time
	mail    func() error // nil: mail is accepted
	stop    func()
}

func newWorld(t *testing.T, store *memory) *world {
	t.Helper()
	w := &world{t: t, store: store, people: map[string]access.Principal{"owner": access.Owner("Ana")}, left: map[string]bool{}}
	w.hub = hub.New(hub.Config{Journal: true, Boot: hub.Boot{Reserved: 1 << 40},
		Derive: func(tx *hub.Tx, e *hub.Envelope) { w.n.Derive(tx, e) }})
	var err error
	w.n, err = New(t.Context(), Config{Hub: w.hub, Host: w, Store: store, Mailer: w,
		Key: []byte(strings.Repeat("k", 32)), Keys: store.openKeys(t),
		Person: func(id string, _ ahp.URI) (access.Principal, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			p, ok := w.people[id]
			return p, ok
		},
		SignedIn: w.isSignedIn,
		Short:    func(ahp.URI) string { return "short" },
		ChatID:   func(u ahp.URI) string { return u[strings.LastIndexByte(u, '/')+1:] },
		Author:   authorOf, Guest: guestsOwn, Public: func() string { return publicURL }})
	if err != nil {
		t.Fatal(err)
	}
	w.n.post.client.Transport = w
	if err := w.n.OpenPush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.start()
	synctest.Wait()
	return w
}

// stampedBy sets the author and time of a comment.
type stampedBy struct {
	ID, Name string
	At       time.Time
}

func authorOf(e ahp.AnnotationEntry) (review.Person, time.Time, bool) {
	var s stampedBy
	err := json.Unmarshal(e.Meta["by"], &s)
	return review.Person{ID: s.ID, Name: s.Name}, s.At, err == nil && s.ID != ""
}

// guestsOwn marks a prompt as written by a guest.
func guestsOwn(m ahp.Message) bool { return m.Meta["by"] != nil }

func entry(id, by, text string) ahp.AnnotationEntry {
	raw, _ := json.Marshal(stampedBy{by, "Name of " + by, time.Now()})
	return ahp.AnnotationEntry{ID: id, Text: ahp.Plain(text), Meta: ahp.Meta{"by": raw}}
}

func (w *world) open() {
	w.do(func(tx *hub.Tx) {
		for _, c := range []struct {
			info  hub.ChannelInfo
			state ahp.State
		}{
			{hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session},
				&ahp.SessionState{Title: "Fix the parser"}},
			{hub.ChannelInfo{URI: chat, Kind: ahp.ChannelChat, Session: session}, &ahp.ChatState{Resource: chat}},
			{hub.ChannelInfo{URI: annotations, Kind: ahp.ChannelAnnotations, Session: session},
				&ahp.AnnotationsState{}},
		} {
			if err := tx.Open(c.info, c.state); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

// start runs the journal, the effects and the notifier; the state after stop is that after a crash.
func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.journal(ctx) })
	wg.Go(func() {
		for {
			due, err := w.hub.Effects(ctx)
			if err != nil {
				return
			}
			for _, e := range due {
				e.Run(ctx)
			}
		}
	})
	wg.Go(func() {
		if err := w.n.Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	w.t.Cleanup(w.stop)
}

func (w *world) journal(ctx context.Context) {
	for {
		b, err := w.hub.Unjournaled(ctx)
		if err != nil {
			return
		}
		for _, x := range b.Writes {
			switch r := x.Record; {
			case r == nil:
			case r.Value == nil:
				_ = w.store.Delete(ctx, r.Bucket, r.Key)
			default:
				_ = w.store.Put(ctx, r.Bucket, r.Key, r.Value)
			}
		}
		w.hub.Durable(b.Upto, 0)
	}
}

func (w *world) do(f func(*hub.Tx)) {
	w.t.Helper()
	if err := w.hub.Do(f); err != nil {
		w.t.Fatal(err)
	}
}

// apply applies an action to a channel and waits until all notifications are sent.
func (w *world) apply(uri ahp.URI, a ahp.Action) {
	w.t.Helper()
	w.do(func(tx *hub.Tx) { tx.Apply(uri, a) })
	synctest.Wait()
}

func (w *world) Review(ahp.URI) review.Review { return w.review }

func (w *world) Summary(ahp.URI) (ahp.SessionSummary, bool) { return ahp.SessionSummary{}, false }

// Send accepts a mail.
func (w *world) Send(_ context.Context, l Letter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mail != nil {
		if err := w.mail(); err != nil {
			return err
		}
	}
	w.letters, w.mailed = append(w.letters, l), append(w.mailed, time.Now())
	return nil
}

// isSignedIn accepts browser keys that begin with the account.
func (w *world) isSignedIn(_ context.Context, browser, account string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.HasPrefix(browser, account+"/") && !w.left[browser], nil
}

// RoundTrip is the receiver of webhooks, and passes requests to the push service.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Content-Encoding") == "aes128gcm" {
		w.mu.Lock()
		service := w.pushes
		w.mu.Unlock()
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		return answer.Result(), nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := posted{at: time.Now(), url: r.URL.String(), header: r.Header, rawBody: string(raw)}
	_ = json.Unmarshal(raw, &p.body)
	status, header := 200, http.Header{}
	if w.answer != nil {
		status, header = w.answer(len(w.posts))
	}
	w.posts = append(w.posts, p)
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("thank you")),
		Request: r}, nil
}

// set changes the world's answers.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) received() []posted {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.posts)
}

func (w *world) mails() []Letter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.letters)
}

// hook makes a webhook for a person.
func (w *world) hook(owner string, everything bool) Hook {
	w.t.Helper()
	h, _, err := w.n.NewHook(context.Background(), Hook{Owner: owner, Everything: everything,
		URL: "https://hooks.example.com/secret-path"})
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) change(who string, f func(*Prefs)) {
	w.t.Helper()
	if err := w.n.Change(context.Background(), who, func(p *Prefs) error { f(p); return nil }); err != nil {
		w.t.Fatal(err)
	}
}

// mailbox gives a person a verified address.
func (w *world) mailbox(who string) {
	w.change(who, func(p *Prefs) { p.Mail.Address, p.Mail.Verified = "ana@example.com", true })
}

func ask(id string) *ahp.SessionInputNeededSetAction {
	return &ahp.SessionInputNeededSetAction{
		Request: ahp.SessionInputRequest{Value: &ahp.SessionChatInputRequest{ID: id, Chat: chat,
			Request: ahp.ChatInputRequest{ID: "r-" + id, Message: "Which colour?"}}}}
}

func approval(id string) *ahp.SessionInputNeededSetAction {
	call := &ahp.ToolCallPendingConfirmationState{ToolCallBase: ahp.ToolCallBase{ToolCallID: "call " + id,
		DisplayName: "Run command"},
		ToolCallParameterFields: ahp.ToolCallParameterFields{InvocationMessage: ahp.Plain(
			"npm test --token=abcdef123456")}}
	return &ahp.SessionInputNeededSetAction{
		Request: ahp.SessionInputRequest{Value: &ahp.SessionToolConfirmationRequest{ID: id, Chat: chat, TurnID: "t1",
			ToolCall: ahp.ToolCallConfirmationState{Value: call}}}}
}
