package hub_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Promise 1: one order for the whole host, across all writers.
func TestAllConnectionsSeeOneOrder(t *testing.T) { // AHP requirement 27
	h := newHub(t, hub.Config{})
	var conns []*hub.Conn
	for i := range 3 {
		conns = append(conns, connect(t, h, fmt.Sprint("c", i), chatURI, termURI))
	}
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if w%2 == 0 {
					do(t, h, chatURI, delta(fmt.Sprintf("%d.%d ", w, i)))
				} else {
					do(t, h, termURI, &ahp.TerminalDataAction{Data: fmt.Sprintf("%d.%d ", w, i)})
				}
			}
		})
	}
	wg.Wait()
	want, _, _ := h.State(chatURI)
	for i, c := range conns {
		m := newMirror(t)
		for m.last < h.Seq() {
			m.take(next(t, c))
		}
		if diff := m.differs(chatURI, want); diff != "" {
			t.Errorf("connection %d mirrors another chat:\n%s", i, diff)
		}
	}
}

// All subscribers of a channel of any kind get its actions (AHP requirement 28).
func TestEverySubscriberGetsTheActionsOfAChannel(t *testing.T) {
	h := newHub(t, hub.Config{})
	must(t, h.Do(func(tx *hub.Tx) {
		must(t, tx.Open(hub.ChannelInfo{URI: ahp.RootURI, Kind: ahp.ChannelRoot}, &ahp.RootState{}))
		must(t, tx.Open(hub.ChannelInfo{URI: sessionURI, Kind: ahp.ChannelSession, Session: sessionURI},
			&ahp.SessionState{}))
	}))
	actions := map[string]ahp.Action{ahp.RootURI: &ahp.RootActiveSessionsChangedAction{ActiveSessions: 2},
		sessionURI: &ahp.SessionTitleChangedAction{Title: "Two"}, chatURI: delta("x"),
		termURI: &ahp.TerminalDataAction{Data: "x"}}
	uris := slices.Sorted(maps.Keys(actions))
	first, second := connect(t, h, "first", uris...), connect(t, h, "second", uris...)
	other := connect(t, h, "other")
	next(t, first)
	next(t, second)
	for _, uri := range uris {
		do(t, h, uri, actions[uri])
		for i, c := range []*hub.Conn{first, second} {
			if got := next(t, c); len(got) != 1 || got[0].Env == nil || got[0].Env.Channel.URI != uri ||
				got[0].Env.Action.ActionType() != actions[uri].ActionType() {
				t.Errorf("subscriber %d of %s got %v", i, uri, describe(got))
			}
		}
	}
	nothing(t, other)
}

// Promise 1: everything after a snapshot follows it, once.
func TestSubscribingUnderLoadLeavesNoGap(t *testing.T) {
	h := newHub(t, hub.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil && i < 20_000; i++ {
			do(t, h, chatURI, delta(fmt.Sprint(i, " ")))
		}
	})
	var mirrors []*mirror
	var conns []*hub.Conn
	for i := range 50 {
		c := connect(t, h, fmt.Sprint("c", i), chatURI)
		m := newMirror(t)
		m.take(next(t, c))
		mirrors, conns = append(mirrors, m), append(conns, c)
	}
	cancel()
	wg.Wait()
	want, last, _ := h.State(chatURI)
	for i, m := range mirrors {
		for m.last < last {
			m.take(next(t, conns[i]))
		}
		if diff := m.differs(chatURI, want); diff != "" {
			t.Fatalf("connection %d differs:\n%s", i, diff)
		}
	}
}

// Promise 3: no client sees what is not in the journal yet, and a stalled store only delays frames.
func TestEnvelopesWaitUntilDurable(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	c := connect(t, h, "c", chatURI)
	nothing(t, c)
	b, err := h.Unjournaled(t.Context())
	must(t, err)
	do(t, h, chatURI, delta("after the batch"))
	h.Durable(b.Upto, 0)
	if got := next(t, c); len(got) != 1 || got[0].Token == nil {
		t.Fatalf("got %v, want the snapshot alone", describe(got))
	}
	nothing(t, c)
	if s, _, _ := h.State(chatURI); !strings.Contains(encode(t, s), "after the batch") {
		t.Error("a stalled store must not hold back the state")
	}
	b, err = h.Unjournaled(t.Context())
	must(t, err)
	h.Durable(b.Upto, 0)
	if got := next(t, c); len(got) != 1 || got[0].Env == nil {
		t.Fatalf("got %v, want the envelope", describe(got))
	}
}

// Promise 3: terminal output is never journaled and does not wait for the disk.
func TestTerminalOutputDoesNotWaitForJournal(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	b, err := h.Unjournaled(t.Context())
	must(t, err)
	h.Durable(b.Upto, 0)
	c := connect(t, h, "c", termURI)
	next(t, c)
	do(t, h, termURI, &ahp.TerminalDataAction{Data: "x"})
	if got := next(t, c); got[0].Env == nil {
		t.Fatal("want the data")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b, err := h.Unjournaled(ctx); err == nil {
		t.Fatalf("the journal was given %d writes", len(b.Writes))
	}
}

func TestEffectsWaitUntilCauseIsDurable(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	must(t, h.Do(func(tx *hub.Tx) {
		tx.Apply(chatURI, delta("a"))
		tx.Effect("1", func(context.Context) {})
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Effects(ctx); err == nil {
		t.Fatal("an effect ran before its cause was durable")
	}
	b, _ := h.Unjournaled(t.Context())
	h.Durable(b.Upto, 0)
	due, err := h.Effects(t.Context())
	must(t, err)
	if len(due) != 1 || due[0].Key != "1" {
		t.Fatalf("got %v", due)
	}
}

// Promise 3: above the limit, the host refuses changes with a reason, and loses nothing.
func TestHostTurnsReadOnlyAndBack(t *testing.T) {
	for name, stop := range map[string]func(*hub.Hub) func(){
		"the disk is full": func(h *hub.Hub) func() {
			h.JournalFailed(errors.New("disk full"))
			return h.JournalBack
		},
		"the disk is slow": func(h *hub.Hub) func() {
			for h.Do(func(tx *hub.Tx) { tx.Apply(chatURI, delta(strings.Repeat("x", 1<<16))) }) == nil {
			}
			return func() {
				b, _ := h.Unjournaled(context.Background())
				h.Durable(b.Upto, 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hub.Config{Journal: true, Limits: hub.Limits{UnjournaledBytes: 1 << 20}})
			b, _ := h.Unjournaled(t.Context())
			h.Durable(b.Upto, 0)
			c := connect(t, h, "c")
			back := stop(h)
			before, _, _ := h.State(chatURI)
			out := h.Dispatch(c, chatURI, 1, &ahp.ChatDraftChangedAction{}, nil)
			if !strings.Contains(out.Rejected, "read-only") {
				t.Fatalf("got %+v, want a refusal that says read-only", out)
			}
			if got := next(t, c); got[0].Env.Rejection == "" {
				t.Fatalf("got %v, want the refusal although nothing can be written", describe(got))
			}
			if after, _, _ := h.State(chatURI); before != after {
				t.Error("the state changed while read-only")
			}
			if !errors.Is(h.ReadOnly(), hub.ErrReadOnly) {
				t.Error("ReadOnly is silent")
			}
			back()
			must(t, h.ReadOnly())
			do(t, h, chatURI, delta("again"))
		})
	}
}

// Promise 4: numbers come from durable blocks, and run out rather than repeat.
func TestNumbersAreReservedBeforeUse(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true, Boot: hub.Boot{Seq: 1000, Reserved: 1200}})
	if h.Seq() <= 1000 {
		t.Fatalf("Seq %d: goes on after the last reserved number", h.Seq())
	}
	var err error
	for range 400 {
		if err = h.Do(func(tx *hub.Tx) { tx.Apply(termURI, &ahp.TerminalDataAction{Data: "x"}) }); err != nil {
			break
		}
	}
	if !errors.Is(err, hub.ErrReadOnly) || h.Seq() > 1200 {
		t.Fatalf("err %v at number %d: used a number that is not reserved", err, h.Seq())
	}
	b, _ := h.Unjournaled(t.Context())
	if !b.Reserve {
		t.Fatal("the store is not asked for more numbers")
	}
	h.Durable(b.Upto, 1<<30)
	do(t, h, termURI, &ahp.TerminalDataAction{Data: "x"})
}

// Promise 4, property: merged and unmerged deliveries reduce to the same state, also if the
// connection is cut between any two frames.
func TestMergingNeverChangesTheState(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := newHub(t, hub.Config{})
		c := connect(t, h, "c", chatURI, termURI)
		m := newMirror(t)
		m.take(next(t, c))
		for range 20 {
			for range rnd.IntN(200) {
				randomStep(t, h, rnd)
			}
			switch rnd.IntN(3) {
			case 0: // cut: some frames arrived, the rest is replayed
				if h.Seq() > m.last {
					items := next(t, c)
					m.take(items[:rnd.IntN(len(items)+1)])
				}
				c.Close(errors.New("cut"))
				c, _ = h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "c", Resume: true})
				c.Reconnect("resumed", m.last, []string{chatURI, termURI})
			default:
			}
			for m.last < h.Seq() {
				m.take(next(t, c))
			}
		}
		for _, uri := range []string{chatURI, termURI} {
			want, _, _ := h.State(uri)
			if diff := m.differs(uri, want); diff != "" {
				t.Fatalf("seed %d: %s:\n%s", seed, uri, diff)
			}
		}
	}
}

func randomStep(t *testing.T, h *hub.Hub, rnd *rand.Rand) {
	switch rnd.IntN(5) {
	case 0:
		do(t, h, termURI, &ahp.TerminalDataAction{Data: fmt.Sprint(rnd.IntN(100), "\r\n")})
	case 1:
		do(t, h, chatURI, &ahp.ChatActivityChangedAction{Activity: fmt.Sprint(rnd.IntN(100))})
	default:
		do(t, h, chatURI, delta(fmt.Sprint(rnd.IntN(1000), " ")))
	}
}

func TestMergeBacklog(t *testing.T) {
	h := newHub(t, hub.Config{})
	c := connect(t, h, "c", chatURI)
	next(t, c)
	for range 500 {
		do(t, h, chatURI, delta("word "))
	}
	got := next(t, c)
	if len(got) > 10 || got[len(got)-1].Env.Seq != h.Seq() {
		t.Fatalf("got %d frames for a backlog of 500, want a tenth at most, ending with the last number", len(got))
	}
}

// AHP requirement 31: maxLatencyMs lets the host hold frames back to merge them.
func TestDeliveryHoldIsPerConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, hub.Config{})
		c, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "c"})
		must(t, err)
		c.Subscribe(1, hub.Subscription{URI: chatURI, MaxLatency: ahp.Ptr[int64](50)})
		next(t, c)
		start := time.Now()
		do(t, h, chatURI, delta("a"))
		do(t, h, chatURI, delta("b"))
		if got := next(t, c); len(got) != 1 || time.Since(start) != 50*time.Millisecond {
			t.Fatalf("got %v after %v, want one merged frame after 50ms", describe(got), time.Since(start))
		}
		start = time.Now()
		do(t, h, chatURI, delta("c"))
		c.PutFree("pong")
		if got := next(t, c); len(got) != 2 || time.Since(start) != 0 {
			t.Fatalf("got %v after %v, want an answer not held back", describe(got), time.Since(start))
		}
		c.Subscribe(2, hub.Subscription{URI: termURI})
		next(t, c)
		start = time.Now()
		do(t, h, chatURI, delta("d"))
		if next(t, c); time.Since(start) != 0 {
			t.Fatal("one subscription that asks for no hold ends the connection's")
		}
	})
}

// AHP requirement 31: an envelope that cannot merge is not held back, and no hold is longer than a
// second.
func TestLongHoldDelaysNoEndOfTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, hub.Config{})
		c, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "c"})
		must(t, err)
		c.Subscribe(1, hub.Subscription{URI: chatURI, MaxLatency: ahp.Ptr[int64](60_000)})
		next(t, c)
		start := time.Now()
		do(t, h, chatURI, delta("a"))
		if next(t, c); time.Since(start) != time.Second {
			t.Errorf("words came after %v, want 1s", time.Since(start))
		}
		start = time.Now()
		do(t, h, chatURI, delta("b"))
		do(t, h, chatURI, delta("c"))
		do(t, h, chatURI, &ahp.ChatTurnCompleteAction{TurnID: "t"})
		if got := next(t, c); len(got) != 2 || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want the merged words and the end of the turn at once", describe(got),
				time.Since(start))
		}
	})
}

// Promise 4: a stalled connection uses bounded memory and delays no other.
func TestStalledReaderIsClosedAndResumes(t *testing.T) {
	h := newHub(t, hub.Config{Limits: hub.Limits{QueueBytes: 64 << 10}})
	slow, quick := connect(t, h, "slow", chatURI), connect(t, h, "quick", chatURI)
	m := newMirror(t)
	m.take(next(t, slow))
	q := newMirror(t)
	for range 1000 {
		do(t, h, chatURI, delta(strings.Repeat("x", 100)))
		for q.last < h.Seq() {
			q.take(next(t, quick))
		}
	}
	if _, err := slow.Next(t.Context(), nil); !errors.Is(err, hub.ErrSlow) {
		t.Fatalf("got %v, want ErrSlow", err)
	}
	slow.Close(hub.ErrSlow)
	again, err := h.Connect(hub.ConnConfig{Principal: "owner", ClientID: "slow", Resume: true})
	must(t, err)
	again.Reconnect(1, m.last, []string{chatURI})
	got := next(t, again)
	if !got[0].IsReplay {
		t.Fatal("want a replay: the window holds it")
	}
	m.take(got)
	want, _, _ := h.State(chatURI)
	if diff := m.differs(chatURI, want); diff != "" {
		t.Fatalf("the resumed mirror differs:\n%s", diff)
	}
}
