package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

func reconnect(t *testing.T, h *hub.Hub, last int64, uris ...string) hub.Item {
	t.Helper()
	c, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "c", Resume: true})
	must(t, err)
	c.Reconnect("resumed", last, uris)
	return next(t, c)[0]
}

// AHP requirements 42–44: a full replay, or snapshots; closed channels are named.
func TestReconnectReplaysOrSnapshots(t *testing.T) {
	h := newHub(t, hub.Config{Limits: hub.Limits{WindowBytes: 10_000}})
	c := connect(t, h, "c", chatURI, chat2URI)
	m := newMirror(t)
	m.take(next(t, c))
	c.Close(errors.New("cut"))
	for i := range 10 {
		do(t, h, chatURI, delta(fmt.Sprint(i)))
	}
	it := reconnect(t, h, m.last, chatURI, chat2URI, "ahp-chat:/gone")
	if !it.IsReplay || len(it.Replay) != 10 || len(it.Missing) != 1 {
		t.Fatalf("replay %v of %d, missing %v; want 10 envelopes and the unknown channel", it.IsReplay, len(it.Replay),
			it.Missing)
	}
	for range 100 {
		do(t, h, chatURI, delta(strings.Repeat("x", 100)))
	}
	it = reconnect(t, h, m.last, chatURI, chat2URI)
	if it.IsReplay || len(it.Snapshots) != 2 {
		t.Fatalf("past the window of one channel: want snapshots of all, got replay %v", it.IsReplay)
	}
	if it = reconnect(t, h, h.Seq(), chatURI); !it.IsReplay || len(it.Replay) != 0 {
		t.Fatal("nothing missed: want an empty replay")
	}
	if it = reconnect(t, h, h.Seq()+5, chatURI); it.IsReplay {
		t.Fatal("a number from the future cannot be resumed by replay")
	}
}

// Promise 4: a terminal past its window never forces snapshots of other channels.
func TestResumeTerminalPastWindow(t *testing.T) {
	h := newHub(t, hub.Config{Limits: hub.Limits{WindowBytes: 1000}})
	c := connect(t, h, "c", chatURI, termURI)
	m := newMirror(t)
	m.take(next(t, c))
	c.Close(errors.New("cut"))
	do(t, h, chatURI, delta("hello"))
	for i := range 100 {
		do(t, h, termURI, &ahp.TerminalDataAction{Data: fmt.Sprintf("line %d\r\n", i)})
	}
	it := reconnect(t, h, m.last, chatURI, termURI)
	if !it.IsReplay {
		t.Fatal("want a replay")
	}
	m.take([]hub.Item{it})
	want, _, _ := h.State(termURI)
	if diff := m.differs(termURI, want); diff != "" {
		t.Errorf("the terminal differs:\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(m.states.State(chatURI)), "hello") {
		t.Error("the chat missed its delta")
	}
}

// AHP requirement 30, and the echo a client still waits for.
func TestNothingArrivesAfterUnsubscribe(t *testing.T) {
	h := newHub(t, hub.Config{})
	c := connect(t, h, "c", chatURI)
	next(t, c)
	h.Dispatch(c, chatURI, 1, &ahp.ChatActivityChangedAction{Activity: "mine"}, nil)
	do(t, h, chatURI, delta("queued before"))
	c.Unsubscribe(chatURI)
	do(t, h, chatURI, delta("after"))
	if got := next(t, c); len(got) != 1 || got[0].Env.Origin == nil {
		t.Fatalf("got %v, want only the echo of its own action", describe(got))
	}
	nothing(t, c)
}

// A refusal that did not arrive is replayed only to that client.
func TestReplayRefusal(t *testing.T) {
	h := newHub(t, hub.Config{})
	c := connect(t, h, "c", chatURI)
	m := newMirror(t)
	m.take(next(t, c))
	h.Dispatch(c, chatURI, 1, &ahp.ChatActivityChangedAction{Activity: "x"}, refuse)
	c.Close(errors.New("cut"))
	it := reconnect(t, h, m.last, chatURI)
	if len(it.Replay) != 1 || it.Replay[0].Rejection == "" {
		t.Fatalf("got %d envelopes, want the refusal", len(it.Replay))
	}
	other := connect(t, h, "other")
	other.Reconnect("resumed", m.last, []string{chatURI})
	if it := next(t, other)[0]; len(it.Replay) != 0 {
		t.Fatal("somebody else was sent the refusal")
	}
}

// guest sees one session only.
type guest struct{}

func (guest) Key() string                 { return "guest" }
func (guest) Sees(i hub.ChannelInfo) bool { return i.Session == "ahp-session:/2" }
func (guest) State(_ hub.ChannelInfo, s ahp.State) ahp.State {
	return s
}
func (guest) Action(_ hub.ChannelInfo, a ahp.Action) ahp.Action { return a }

func TestGuestCannotFollowHiddenChannel(t *testing.T) {
	h := newHub(t, hub.Config{})
	c, err := h.Connect(hub.ConnConfig{Principal: "g", ClientID: "g", Audience: guest{}})
	must(t, err)
	subscribe(c, chatURI)
	if it := next(t, c)[0]; it.Snapshots[0].State != nil {
		t.Fatal("a guest was given another session's chat")
	}
	c.Reconnect("r", 0, []string{chatURI})
	if it := next(t, c)[0]; len(it.Missing) != 1 {
		t.Fatal("want the channel named as missing")
	}
	if out := h.Dispatch(c, chatURI, 1, title("x"), nil); !out.Unknown {
		t.Fatalf("got %+v, want silence", out)
	}
}

func TestNotifyOnlyPermittedSubscribers(t *testing.T) { // AHP requirement 29
	h := newHub(t, hub.Config{})
	must(t, h.Do(func(tx *hub.Tx) {
		must(t, tx.Open(hub.ChannelInfo{URI: "ahp-root://", Kind: ahp.ChannelRoot}, &ahp.RootState{}))
	}))
	follower, stranger := connect(t, h, "a", "ahp-root://"), connect(t, h, "b", chatURI)
	next(t, follower)
	next(t, stranger)
	must(t, h.Do(func(tx *hub.Tx) {
		tx.Notify(hub.ChannelInfo{URI: sessionURI, Session: sessionURI}, "ahp-root://", "root/sessionAdded", nil)
	}))
	if n, ok := next(t, follower)[0].Put.(*hub.Notification); !ok || n.Method != "root/sessionAdded" {
		t.Fatal("the subscriber of root missed the notification")
	}
	nothing(t, stranger)
}

type loader map[string]hub.Loaded

func (l loader) Load(_ context.Context, uri string) (hub.Loaded, error) { return l[uri], nil }

// Promise 9: idle channels leave memory and are loaded before an action reaches them.
func TestChannelSleepsAndWakes(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	later := time.Now().Add(time.Hour)
	if h.Sleep(chatURI, later) {
		t.Fatal("slept although its writes are not durable")
	}
	b, _ := h.Unjournaled(t.Context())
	h.Durable(b.Upto, 0)
	s, last, _ := h.State(chatURI)
	if !h.Sleep(chatURI, later) {
		t.Fatal("does not sleep")
	}
	if _, _, ok := h.State(chatURI); ok {
		t.Fatal("still in memory")
	}
	must(t, h.Ensure(t.Context(), loader{chatURI: {State: s, Last: last, Floor: last}}, chatURI))
	if h.Sleep(chatURI, time.Now().Add(-time.Hour)) {
		t.Fatal("slept right after it was asked for")
	}
	do(t, h, chatURI, delta("awake"))
	if err := h.Ensure(t.Context(), loader{}, "ahp-chat:/none"); !errors.Is(err, hub.ErrUnknownChannel) {
		t.Fatalf("got %v, want ErrUnknownChannel", err)
	}
}
