package hub_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	sessionURI = "ahp-session:/1"
	chatURI    = "ahp-chat:/1"
	chat2URI   = "ahp-chat:/2"
	termURI    = "ahp-terminal:/1"
)

// newHub returns a hub with a session's two chats and a terminal; the first chat has a running
// turn with one Markdown part, so that deltas change its state.
func newHub(t testing.TB, cfg hub.Config) *hub.Hub {
	t.Helper()
	if cfg.Journal && cfg.Boot.Reserved == 0 {
		cfg.Boot.Reserved = 1 << 40
	}
	h := hub.New(cfg)
	err := h.Do(func(tx *hub.Tx) {
		for _, uri := range []string{chatURI, chat2URI} {
			must(t, tx.Open(hub.ChannelInfo{URI: uri, Kind: ahp.ChannelChat, Session: sessionURI}, newChat(uri)))
		}
		must(t, tx.Open(hub.ChannelInfo{URI: termURI, Kind: ahp.ChannelTerminal, Session: sessionURI},
			&ahp.TerminalState{Title: "sh"}))
		tx.Apply(chatURI, &ahp.ChatTurnStartedAction{TurnID: "t", StartedAt: "2026-01-02T03:04:05.000Z",
			Message: ahp.Message{Text: "go"}})
		tx.Apply(chatURI, &ahp.ChatResponsePartAction{TurnID: "t",
			Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}}})
	})
	must(t, err)
	return h
}

func newChat(uri string) *ahp.ChatState {
	return &ahp.ChatState{Resource: uri, Title: "chat", Status: ahp.SessionStatusIdle,
		ModifiedAt: "2026-01-02T03:04:05.000Z"}
}

func delta(text string) ahp.Action {
	return &ahp.ChatDeltaAction{TurnID: "t", PartID: "p", Content: text}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, h *hub.Hub, client string, uris ...string) *hub.Conn {
	t.Helper()
	c, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: client})
	must(t, err)
	if len(uris) > 0 {
		subscribe(c, uris...)
	}
	return c
}

func subscribe(c *hub.Conn, uris ...string) {
	var subs []hub.Subscription
	for _, u := range uris {
		subs = append(subs, hub.Subscription{URI: u})
	}
	c.Subscribe("subscribed", subs...)
}

// next returns what may be sent now and fails if there is nothing.
func next(t testing.TB, c *hub.Conn) []hub.Item {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	items, err := c.Next(ctx, nil)
	must(t, err)
	return items
}

// nothing fails if something may be sent.
func nothing(t testing.TB, c *hub.Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if items, err := c.Next(ctx, nil); err == nil {
		t.Fatalf("got %v, want nothing", describe(items))
	}
}

func describe(items []hub.Item) (out []string) {
	for _, it := range items {
		switch {
		case it.Env != nil:
			out = append(out, fmt.Sprintf("%d %s %s", it.Env.Seq, it.Env.Action.ActionType(), it.Env.Rejection))
		case it.Token != nil:
			out = append(out, fmt.Sprintf("%v", it.Token))
		default:
			out = append(out, fmt.Sprintf("%v", it.Put))
		}
	}
	return out
}

func do(t testing.TB, h *hub.Hub, uri string, actions ...ahp.Action) {
	t.Helper()
	must(t, h.Do(func(tx *hub.Tx) {
		for _, a := range actions {
			tx.Apply(uri, a)
		}
	}))
}

// mirror reduces a connection's frames, as a client does, with the oracle, which shares no code
// with the program's reducers.
type mirror struct {
	t      testing.TB
	states *oracle.Mirror
	last   int64
}

func newMirror(t testing.TB) *mirror { return &mirror{t: t, states: oracle.NewMirror(ahp.Version)} }

func (m *mirror) take(items []hub.Item) {
	m.t.Helper()
	for _, it := range items {
		for _, s := range it.Snapshots {
			must(m.t, m.states.Adopt(s.Info.URI, string(s.Info.Kind), []byte(encode(m.t, s.State))))
			m.last = max(m.last, s.Seq)
		}
		for _, e := range it.Replay {
			m.apply(e)
		}
		if it.Env != nil {
			m.apply(it.Env)
		}
	}
}

func (m *mirror) apply(e *hub.Envelope) {
	m.t.Helper()
	if e.Seq <= m.last {
		m.t.Fatalf("serverSeq %d after %d", e.Seq, m.last)
	}
	m.last = e.Seq
	if m.states.Follows(e.Channel.URI) && e.Rejection == "" {
		b, err := ahp.MarshalAction(e.Action)
		must(m.t, err)
		must(m.t, m.states.Apply(e.Channel.URI, b))
	}
}

// differs lists the differences between the mirror of a channel and a state; "" for none.
func (m *mirror) differs(uri string, s ahp.State) string {
	m.t.Helper()
	return m.states.Compare(uri, []byte(encode(m.t, s)))
}

func encode(t testing.TB, s ahp.State) string {
	t.Helper()
	b, err := ahp.Marshal(s)
	must(t, err)
	return string(b)
}
