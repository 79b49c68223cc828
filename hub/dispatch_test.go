package hub_test

import (
	"errors"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

func title(s string) ahp.Action { return &ahp.ChatActivityChangedAction{Activity: s} }

func refuse(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) { return nil, "not now" }

// Promise 6: every subscriber gets a change, with the sender's origin.
func TestEchoAcceptedActionToAll(t *testing.T) {
	h := newHub(t, hub.Config{})
	a, b := connect(t, h, "a", chatURI), connect(t, h, "b", chatURI)
	next(t, a)
	next(t, b)
	h.Dispatch(a, chatURI, 7, title("busy"), nil)
	for _, c := range []*hub.Conn{a, b} {
		e := next(t, c)[0].Env
		if e.Origin == nil || e.Origin.ClientID != "a" || e.Origin.ClientSeq != 7 {
			t.Errorf("origin %+v", e.Origin)
		}
	}
}

// Promise 6: an action that changes nothing, or is refused, is answered only to its sender.
func TestAnswersForTheSenderAlone(t *testing.T) {
	h := newHub(t, hub.Config{})
	a, b := connect(t, h, "a", chatURI), connect(t, h, "b", chatURI)
	next(t, a)
	next(t, b)
	if out := h.Dispatch(a, chatURI, 1, title(""), nil); !out.NoChange {
		t.Errorf("got %+v, want NoChange", out)
	}
	if out := h.Dispatch(a, chatURI, 2, title("x"), refuse); out.Rejected != "not now" {
		t.Errorf("got %+v, want the refusal", out)
	}
	if out := h.Dispatch(a, termURI, 3, &ahp.TerminalInputAction{Data: "secret"}, nil); !out.NoChange {
		t.Errorf("got %+v, want keys echoed to their sender", out)
	}
	if got := next(t, a); len(got) != 3 || got[1].Env.Rejection != "not now" {
		t.Errorf("got %v, want three answers", describe(got))
	}
	nothing(t, b)
}

func TestAnswerReachesSenderWithoutSubscription(t *testing.T) {
	h := newHub(t, hub.Config{})
	a := connect(t, h, "a")
	h.Dispatch(a, chatURI, 1, title("busy"), nil)
	if got := next(t, a); len(got) != 1 || got[0].Env.Origin == nil {
		t.Fatalf("got %v, want the echo", describe(got))
	}
	do(t, h, chatURI, delta("x"))
	nothing(t, a)
}

// AHP requirement 36: actions on an unknown session or chat are ignored.
func TestIgnoreActionOnUnknownChannel(t *testing.T) {
	h := newHub(t, hub.Config{})
	a := connect(t, h, "a")
	if out := h.Dispatch(a, "ahp-chat:/none", 1, title("x"), nil); !out.Unknown || out.Env != nil {
		t.Fatalf("got %+v", out)
	}
	nothing(t, a)
}

// Promise 6: an answered action is answered again and not run again.
func TestResentActionRunsOnce(t *testing.T) {
	h := newHub(t, hub.Config{})
	runs := 0
	check := func(_ *hub.Tx, _ ahp.State, a ahp.Action) (ahp.Action, string) { runs++; return a, "" }
	a := connect(t, h, "a", chatURI)
	first := h.Dispatch(a, chatURI, 1, title("one"), check)
	h.Dispatch(a, chatURI, 2, title("two"), check)
	next(t, a)
	a.Close(errors.New("cut"))
	a, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "a", Resume: true})
	must(t, err)
	out := h.Dispatch(a, chatURI, 1, title("one"), check)
	if runs != 2 || !out.Repeat {
		t.Fatalf("ran %d times, outcome %+v", runs, out)
	}
	e := next(t, a)[0].Env
	if e.Origin.ClientSeq != 1 || e.Seq <= first.Env.Seq || e.Rejection == "" {
		t.Errorf("answered with %+v, which would take back what came after it", e)
	}
	h.Dispatch(a, chatURI, 2, title("two"), check)
	if e := next(t, a)[0].Env; e.Origin.ClientSeq != 2 || e.Rejection != "" {
		t.Errorf("what is still so was answered with %+v", e)
	}
	if s, _ := hub.StateOf[*ahp.ChatState](h, chatURI); s.Activity != "two" {
		t.Errorf("activity %q, want two", s.Activity)
	}
}

// A resent action, or one that changes nothing, is not confirmed before the state is durable: a
// crash could undo it.
func TestAnswersToWhatIsNotDurableWait(t *testing.T) {
	for name, ask := range map[string]func(*hub.Hub) (*hub.Conn, hub.Outcome){
		"asked again": func(h *hub.Hub) (*hub.Conn, hub.Outcome) {
			again, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "a", Resume: true})
			must(t, err)
			return again, h.Dispatch(again, chatURI, 1, title("one"), nil)
		},
		"nothing changes": func(h *hub.Hub) (*hub.Conn, hub.Outcome) {
			other := connect(t, h, "b")
			return other, h.Dispatch(other, chatURI, 1, title("one"), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hub.Config{Journal: true})
			h.Dispatch(connect(t, h, "a"), chatURI, 1, title("one"), nil)
			c, out := ask(h)
			if out.Rejected != "" || !out.Repeat && !out.NoChange {
				t.Fatalf("outcome %+v", out)
			}
			nothing(t, c)
			b, err := h.Unjournaled(t.Context())
			must(t, err)
			h.Durable(b.Upto, 0)
			if e := next(t, c)[0].Env; e.Origin.ClientSeq != 1 || e.Rejection != "" {
				t.Errorf("answered with %+v", e)
			}
		})
	}
}

// A client that reconnects and restarts its numbers is heard: the same number with another action
// is another action. The start time of an action does not count, as the host fills it in when a
// client omits it.
func TestReuseNumberForAnotherAction(t *testing.T) {
	h := newHub(t, hub.Config{})
	a := connect(t, h, "a", chat2URI)
	start := func(at string) ahp.Action {
		return &ahp.ChatTurnStartedAction{TurnID: "t", StartedAt: at, Message: ahp.Message{Text: "go"}}
	}
	h.Dispatch(a, chat2URI, 1, start("2026-01-02T03:04:05.000Z"), nil)
	a, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "a", Resume: true})
	must(t, err)
	if out := h.Dispatch(a, chat2URI, 1, start("2026-01-02T03:04:09.000Z"), nil); !out.Repeat {
		t.Errorf("the turn began twice: %+v", out)
	}
	if out := h.Dispatch(a, chat2URI, 1, title("new"), nil); out.Repeat || out.Rejected != "" {
		t.Errorf("another action was taken for the first one: %+v", out)
	}
	if out := h.Dispatch(a, chat2URI, 1, title("new"), nil); !out.Repeat {
		t.Errorf("it was run twice: %+v", out)
	}
}

func TestResentActionRunsOnceAcrossRestart(t *testing.T) {
	h := newHub(t, hub.Config{Boot: hub.Boot{Seq: 50,
		Answered: []hub.Answered{{Principal: "owner", ClientID: "a", ClientSeq: 9, Seq: 40, Channel: chatURI}}}})
	a, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "a", Resume: true})
	must(t, err)
	if out := h.Dispatch(a, chatURI, 9, title("again"), nil); !out.Repeat {
		t.Fatalf("got %+v, want Repeat", out)
	}
}

// A client that initializes counts its actions from the beginning.
func TestInitializeResetsNumbers(t *testing.T) {
	h := newHub(t, hub.Config{})
	a := connect(t, h, "a")
	h.Dispatch(a, chatURI, 1, title("one"), nil)
	a = connect(t, h, "a")
	if out := h.Dispatch(a, chatURI, 1, title("other"), nil); out.Repeat {
		t.Fatal("the action of a fresh client was taken for a repeat")
	}
}

// Promise 7: a clientId of another principal is refused; the newest socket of one client wins.
func TestClientIdentity(t *testing.T) {
	h := newHub(t, hub.Config{})
	old := connect(t, h, "a", chatURI)
	if _, err := h.Connect(hub.ConnConfig{Principal: "guest", ClientID: "a"}); !errors.Is(err, hub.ErrClientTaken) {
		t.Fatalf("got %v, want ErrClientTaken", err)
	}
	connect(t, h, "a")
	if _, err := old.Next(t.Context(), nil); !errors.Is(err, hub.ErrReplaced) {
		t.Fatalf("got %v, want ErrReplaced", err)
	}
}
