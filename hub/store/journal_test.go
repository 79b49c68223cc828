package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	chatURI = "ahp-chat:/1"
	termURI = "ahp-terminal:/1"
)

// life is a store and its hub for one run of the program.
type life struct {
	t    testing.TB
	s    *Store
	h    *hub.Hub
	stop func()
}

// start starts a life in a directory; a new one gets a chat with a running turn, whose Markdown
// part takes deltas, and a terminal.
func start(t testing.TB, cfg Config) *life {
	t.Helper()
	s := open(t, cfg)
	l := &life{t: t, s: s, h: boot(t, s)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l.h) }()
	l.stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		must(t, <-done)
		must(t, s.Close())
	}
	t.Cleanup(l.stop)
	return l
}

func boot(t testing.TB, s *Store) *hub.Hub {
	t.Helper()
	b, err := s.Boot(context.Background())
	must(t, err)
	h := hub.New(hub.Config{Journal: true, Boot: b})
	if len(b.Channels) > 0 {
		for _, c := range b.Channels {
			must(t, h.Ensure(context.Background(), s, c.URI))
		}
		return h
	}
	must(t, h.Do(func(tx *hub.Tx) {
		must(t, tx.Open(hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelChat, Session: "ahp-session:/1"},
			&ahp.ChatState{Resource: chatURI, Status: ahp.SessionStatusIdle, ModifiedAt: "2026-01-02T03:04:05.000Z"}))
		must(t, tx.Open(hub.ChannelInfo{URI: termURI, Kind: ahp.ChannelTerminal}, &ahp.TerminalState{Title: "sh",
			Lifecycle: ahp.TerminalLifecycleState{Status: "running"},
			Claim:     ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "c"}}}))
		tx.Apply(chatURI, &ahp.ChatTurnStartedAction{TurnID: "t", StartedAt: "2026-01-02T03:04:05.000Z",
			Message: ahp.Message{Text: "go"}})
		tx.Apply(chatURI, &ahp.ChatResponsePartAction{TurnID: "t",
			Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}}})
	}))
	return h
}

func (l *life) apply(uri ahp.URI, actions ...ahp.Action) error {
	return l.h.Do(func(tx *hub.Tx) {
		for _, a := range actions {
			tx.Apply(uri, a)
		}
	})
}

// settle waits until everything accepted is durable.
func (l *life) settle() {
	l.t.Helper()
	c, err := l.h.Connect(hub.ConnConfig{Principal: "test", ClientID: "settle"})
	must(l.t, err)
	defer c.Close(errors.New("done"))
	c.Put("mark")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = c.Next(ctx, nil)
	must(l.t, err)
}

func (l *life) state(uri ahp.URI) string {
	l.t.Helper()
	state, _, ok := l.h.State(uri)
	if !ok {
		l.t.Fatalf("%s is not there", uri)
	}
	return encode(l.t, state)
}

func encode(t testing.TB, s ahp.State) string {
	t.Helper()
	b, err := ahp.Marshal(s)
	must(t, err)
	return string(b)
}

func delta(text string) ahp.Action {
	return &ahp.ChatDeltaAction{TurnID: "t", PartID: "p", Content: text}
}

func TestReopenedChannelsEqual(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), WindowBytes: 2000}
	l := start(t, cfg)
	for i := range 200 {
		must(t, l.apply(chatURI, delta(fmt.Sprintf("%d \u2028\"é\\ ", i))))
	}
	must(t, l.apply(termURI, &ahp.TerminalResizedAction{Cols: 80, Rows: 24}))
	chat, seq := l.state(chatURI), l.h.Seq()
	l.stop()

	l = start(t, cfg)
	if got := l.state(chatURI); got != chat {
		t.Errorf("the chat was\n%s\nand is\n%s", chat, got)
	}
	if got := l.state(termURI); !strings.Contains(got, `"cols":80`) {
		t.Errorf("the terminal is %s", got)
	}
	if l.h.Seq() < seq {
		t.Errorf("serverSeq went from %d to %d", seq, l.h.Seq())
	}
	must(t, l.apply(chatURI, delta("more")))
	if got := l.state(chatURI); got == chat {
		t.Error("the chat takes no more")
	}
}

// Promise 4: numbers never repeat, including those of terminal output, which is not in the journal.
func TestNumbersGoOnBehindEverythingReserved(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), SeqBlock: 1 << 19}
	var last int64
	for range 3 {
		l := start(t, cfg)
		if l.h.Seq() < last {
			t.Fatalf("a life begins at %d, the one before ended at %d", l.h.Seq(), last)
		}
		for range 10 {
			must(t, l.apply(termURI, &ahp.TerminalDataAction{Data: "x"}))
		}
		last = l.h.Seq()
		l.stop()
	}
}

func TestMoreNumbersAreReservedBeforeTheyRunOut(t *testing.T) {
	const block = 300_000 // the hub requests more when 1<<18 are left
	l := start(t, Config{SeqBlock: block})
	actions := make([]ahp.Action, 1000)
	for i := range actions {
		actions[i] = &ahp.TerminalInputAction{Data: "x"}
	}
	for l.h.Seq() < 2*block {
		// Refused while the next block is not durable yet.
		eventually(t, "taken", func() bool { return l.apply(termURI, actions...) == nil })
	}
}

// A snapshot ends a run of envelopes and deletes those that replay does not need.
func TestSnapshotsCloseRuns(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), WindowBytes: 4000}
	l := start(t, cfg)
	kept := func(s *Store) (rows, floor int64) {
		must(t, s.read.QueryRow("SELECT (SELECT count(*) FROM envelopes), max(floor) FROM channels").Scan(&rows,
			&floor))
		return rows, floor
	}
	for i := range 2000 {
		must(t, l.apply(chatURI, delta(fmt.Sprintf("%05d ", i))))
		if i%50 == 0 {
			l.settle()
		}
	}
	eventually(t, "closed by a snapshot", func() bool { // written in the background, after a change
		must(t, l.apply(chatURI, delta("more ")))
		l.settle()
		rows, _ := kept(l.s)
		return rows <= 1000
	})
	want := l.state(chatURI)
	l.stop()

	s := open(t, cfg)
	if rows, floor := kept(s); rows > 1000 || floor < 1000 {
		t.Errorf("%d rows are kept, from %d on", rows, floor)
	}
	got, err := s.Load(t.Context(), chatURI)
	must(t, err)
	if encode(t, got.State) != want {
		t.Errorf("the chat is %s, want %s", encode(t, got.State), want)
	}
	size := 0
	for _, e := range got.Window {
		b, err := ahp.MarshalAction(e.Action)
		must(t, err)
		size += len(b)
	}
	if size > 4000 || size < 3800 || got.Window[0].Seq <= got.Floor || got.Last != got.Window[len(got.Window)-1].Seq {
		t.Errorf("a window of %d bytes from %d to %d, floor %d, last %d", size, got.Window[0].Seq,
			got.Window[len(got.Window)-1].Seq, got.Floor, got.Last)
	}
}

// Promise 4: replay is complete after a restart.
func TestReplayOverARestart(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := start(t, cfg)
	must(t, l.apply(chatURI, delta("seen ")))
	seen := l.h.Seq()
	for i := range 100 {
		must(t, l.apply(chatURI, delta(fmt.Sprint(i, " "))))
	}
	l.stop()

	l = start(t, cfg)
	c, err := l.h.Connect(hub.ConnConfig{Principal: "ana", ClientID: "c", Resume: true})
	must(t, err)
	c.Reconnect("token", seen, []ahp.URI{chatURI, "ahp-chat:/gone"})
	items, err := c.Next(t.Context(), nil)
	must(t, err)
	if len(items) != 1 || !items[0].IsReplay || !reflect.DeepEqual(items[0].Missing, []ahp.URI{"ahp-chat:/gone"}) {
		t.Fatalf("resumed by %+v", items)
	}
	var got, want strings.Builder
	for i := range 100 {
		fmt.Fprint(&want, i, " ")
	}
	for _, e := range items[0].Replay { // neighbours may be merged
		got.WriteString(e.Action.(*ahp.ChatDeltaAction).Content)
		if e.At.IsZero() || e.Seq <= seen {
			t.Errorf("replayed %d of %v", e.Seq, e.At)
		}
	}
	if got.String() != want.String() {
		t.Errorf("replayed %q", got.String())
	}
}

// Promise 6: an answered action does not run again after a restart, unless its client initialized
// again.
func TestAnswersAreRememberedOverARestart(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := start(t, cfg)
	dispatch := func(resume bool, clientSeq int64) hub.Outcome {
		c, err := l.h.Connect(hub.ConnConfig{Principal: "ana", ClientID: "c", Resume: resume})
		must(t, err)
		return l.h.Dispatch(c, chatURI, clientSeq, delta("x"), nil)
	}
	for i := range 5 {
		dispatch(true, int64(i))
	}
	l.stop()

	l = start(t, cfg)
	if out := dispatch(true, 4); !out.Repeat {
		t.Errorf("a resent action was run again: %+v", out)
	}
	if out := dispatch(true, 5); out.Repeat {
		t.Errorf("a new action was taken for a resent one: %+v", out)
	}
	r := l.s.ClientRecord("ana", "c", []byte("{}"))
	must(t, l.h.Do(func(tx *hub.Tx) { tx.Record(r.Bucket, r.Key, r.Value) }))
	l.stop()

	l = start(t, cfg)
	if out := dispatch(true, 1); out.Repeat {
		t.Errorf("an action of a client that began anew was taken for one of its earlier life: %+v", out)
	}
	if v, ok, err := l.s.Client(t.Context(), "ana", "c"); string(v) != "{}" || !ok || err != nil {
		t.Errorf("the client is remembered as %q, %v, %v", v, ok, err)
	}
	if _, ok, err := l.s.Client(t.Context(), "bo", "c"); ok || err != nil {
		t.Errorf("another principal's client: %v, %v", ok, err)
	}
}

func TestClosedChannelsLeaveNothing(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := start(t, cfg)
	must(t, l.apply(chatURI, delta("a")))
	must(t, l.h.Do(func(tx *hub.Tx) {
		tx.Close(chatURI)
		must(t, tx.Open(hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelAnnotations}, &ahp.AnnotationsState{}))
		tx.Record("b", "k", []byte("v"))
		tx.Record("b", "gone", []byte("v"))
		tx.Record("b", "gone", nil)
	}))
	l.stop()

	l = start(t, cfg)
	if got := l.state(chatURI); got != `{"annotations":[]}` {
		t.Errorf("the new channel of an old name is %s", got)
	}
	docs, err := l.s.List(t.Context(), "b", "")
	must(t, err)
	if len(docs) != 1 || docs[0].Key != "k" {
		t.Errorf("records are %v", docs)
	}
	if _, err := l.s.Load(t.Context(), "ahp-chat:/never"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a channel that never was: %v", err)
	}
}

// Promise 3: terminal input and output are never written to disk.
func TestTerminalBytesStayOffTheDisk(t *testing.T) {
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, WindowBytes: 100})
	must(t, l.apply(termURI, &ahp.TerminalDataAction{Data: "0utput-s3cret"},
		&ahp.TerminalInputAction{Data: "k3y-s3cret"}))
	for i := range 20 { // enough for a snapshot
		must(t, l.apply(termURI, &ahp.TerminalTitleChangedAction{Title: fmt.Sprint("title ", i)}))
		l.settle()
	}
	l.stop()
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
		if bytes.Contains(b, []byte("s3cret")) {
			t.Errorf("%s holds terminal bytes", f.Name())
		}
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s after 20 s", what)
		}
	}
}

// Startup reads the catalogue, not the transcripts.
func TestStartWithAThousandSessions(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	l := start(t, cfg)
	text := strings.Repeat("All of this is transcript. ", 400)
	for i := range 1000 {
		must(t, l.h.Do(func(tx *hub.Tx) {
			session := fmt.Sprint("ahp-session:/s", i)
			must(t, tx.Open(hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session},
				&ahp.SessionState{Title: "s"}))
			must(t, tx.Open(hub.ChannelInfo{URI: session + "/annotations", Kind: ahp.ChannelAnnotations,
				Session: session}, &ahp.AnnotationsState{}))
			chat := fmt.Sprint("ahp-chat:/c", i)
			must(t, tx.Open(hub.ChannelInfo{URI: chat, Kind: ahp.ChannelChat, Session: session},
				&ahp.ChatState{Resource: chat, Title: text}))
		}))
		if i%100 == 0 {
			l.settle()
		}
	}
	l.stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	s := open(t, cfg)
	b, err := s.Boot(t.Context())
	must(t, err)
	t.Logf("%d channels in %v", len(b.Channels), time.Since(began))
	runtime.ReadMemStats(&after)
	if len(b.Channels) != 3002 {
		t.Errorf("%d channels", len(b.Channels))
	}
	if got, all := after.TotalAlloc-before.TotalAlloc, uint64(1000*len(text)); got > all/2 {
		t.Errorf("start-up took %d bytes of memory beside %d bytes of transcripts: it reads more than the catalogue",
			got, all)
	}
}
