package usage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/usage"
)

const (
	session ahp.URI = "ahp-session:/one"
	chatURI ahp.URI = "ahp-chat:/one"
)

// memory is a store of documents, filled by the journal's records.
type memory map[string][]byte

func (m memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m[bucket+"\n"+key] = v
	return nil
}

func (m memory) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	v, ok := m[bucket+"\n"+key]
	return v, ok, nil
}

func (m memory) Delete(_ context.Context, bucket, key string) error {
	delete(m, bucket+"\n"+key)
	return nil
}

func (m memory) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	for k, v := range m {
		if key, ok := strings.CutPrefix(k, bucket+"\n"); ok {
			if err := visit(key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// world is a timeline with a ledger.
type world struct {
	t      *testing.T
	hub    *hub.Hub
	ledger *usage.Ledger
	store  memory
	turns  int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: memory{}}
	w.open()
	w.hub = hub.New(hub.Config{Derive: func(tx *hub.Tx, e *hub.Envelope) { w.ledger.Derive(tx, e) }})
	w.do(func(tx *hub.Tx) {
		w.must(tx.Open(hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session},
			&ahp.SessionState{Provider: "gemini"}))
		w.must(tx.Open(hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelChat, Session: session}, &ahp.ChatState{}))
	})
	return w
}

func (w *world) open() {
	var err error
	w.ledger, err = usage.Open(w.t.Context(), usage.Config{Store: w.store, Owner: "owner",
		Sender: func(m ahp.Message) (string, string) { return m.Text, strings.ToUpper(m.Text) }})
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) do(f func(*hub.Tx)) {
	w.t.Helper()
	w.must(w.hub.Do(f))
}

func (w *world) apply(a ahp.Action) {
	w.t.Helper()
	w.do(func(tx *hub.Tx) { tx.Apply(chatURI, a) }) // the same usage again changes nothing
}

// turn runs a person's turn whose agent reports the amounts in order.
func (w *world) turn(person string, told ...ahp.UsageInfo) {
	w.t.Helper()
	w.turns++
	id := "turn-" + strings.Repeat("i", w.turns)
	w.apply(&ahp.ChatTurnStartedAction{TurnID: id, StartedAt: "2026-01-01T00:00:00Z",
		Message: ahp.Message{Text: person}})
	for _, u := range told {
		w.apply(&ahp.ChatUsageAction{TurnID: id, Usage: u})
	}
	w.apply(&ahp.ChatTurnCompleteAction{TurnID: id})
}

func told(in, out int64, meta string) ahp.UsageInfo {
	return ahp.UsageInfo{InputTokens: &in, OutputTokens: &out, Meta: ahp.Meta{"acp": []byte(meta)}}
}

// An agent reports totals of a turn; they are counted once, for the sender of the message.
func TestUsageIsCountedOncePerTurn(t *testing.T) {
	w := newWorld(t)
	w.turn("ana", told(100, 10, `{"turnCost":0.25,"currency":"USD"}`), told(300, 30, `{"turnCost":1,"currency":"USD"}`),
		told(300, 30, `{"turnCost":1,"currency":"USD"}`))
	w.turn("ben", told(5, 5, `{}`))
	w.turn("ana", told(1, 2, `{"turnCost":0.5,"currency":"EUR"}`))
	rows := w.ledger.Rows("0000", "9999", "ana")
	if len(rows) != 1 {
		t.Fatalf("ana has %d rows", len(rows))
	}
	r := rows[0]
	if r.Turns != 2 || r.Input != 301 || r.Output != 32 || r.Cost["USD"] != 1 || r.Cost["EUR"] != 0.5 ||
		r.Agent != "gemini" || r.Session != session || r.Name != "ANA" {
		t.Errorf("ana used %+v", r)
	}
	if all := w.ledger.Rows("0000", "9999", ""); len(all) != 2 || all[1].Person != "ben" {
		t.Errorf("everyone used %+v", all)
	}
}

// Numbers reported by agents are not trusted.
func TestUnsoundUsageIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.turn("ana", told(-5, -7, `{"turnCost":-1}`), told(0, 0, `{"turnCost":1e300}`), told(0, 0, `{"turnCost":"x"}`),
		told(0, 0, `[]`))
	w.turn("ana", told(0, 0, `{"turnCost":1,"currency":"<script>alert(1)</script>"}`))
	r := w.ledger.Rows("0000", "9999", "")[0]
	if r.Tokens() != 0 || len(r.Cost) != 1 || r.Cost["USD"] != 1 {
		t.Errorf("counted %+v", r)
	}
}

// A used-up budget stops new turns, and says who may raise it. Other people's turns continue.
func TestBudgetStopsNewTurns(t *testing.T) {
	w := newWorld(t)
	w.turn("ana", told(600, 400, `{"turnCost":2,"currency":"USD"}`))
	for name, test := range map[string]struct {
		budget usage.Budget
		person string
		want   string
	}{
		"no budget": {usage.Budget{}, "ana", ""},
		"cost by day": {usage.Budget{Day: usage.Limit{Cost: 1.5}}, "ana",
			"Your budget for today is used up ($2.00 of $1.50). Ask the owner"},
		"not yet":        {usage.Budget{Day: usage.Limit{Cost: 2.5}}, "ana", ""},
		"another person": {usage.Budget{Day: usage.Limit{Cost: 1.5}}, "ben", ""},
		"tokens by month": {usage.Budget{Month: usage.Limit{Tokens: 1000}}, "ana",
			"this month is used up (1,000 of 1,000 tokens)"},
		"the whole session": {usage.Budget{Session: usage.Limit{Cost: 1}}, "ben", "The budget of this session is used up"},
		"no person":         {usage.Budget{Session: usage.Limit{Cost: 1}}, "", "The budget of this session is used up"},
		"the owner":         {usage.Budget{Session: usage.Limit{Cost: 1}}, "owner", "Raise it on the Usage page"},
	} {
		w.must(w.ledger.SetBudget(t.Context(), test.budget))
		got := w.ledger.Check(test.person, session)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	for _, bad := range []usage.Limit{{Cost: -1}, {Cost: 0.001}, {Cost: 1e9}, {Tokens: -1}, {Tokens: 1e15}} {
		if w.ledger.SetBudget(t.Context(), usage.Budget{Day: bad}) == nil {
			t.Errorf("the limit %+v was accepted", bad)
		}
	}
}

// Rows and budgets survive a restart; expired and unreadable ones are dropped.
func TestUsageSurvivesARestart(t *testing.T) {
	today := time.Now().UTC().Format(time.DateOnly)
	key := strings.Join([]string{today, "ana", session, "gemini"}, "\x1f")
	w := &world{t: t, store: memory{
		"usage\n" + key: []byte(`{"day":"` + today +
			`","person":"ana","session":"ahp-session:/one","agent":"gemini","input":7}`),
		"usage\n2001-01-01\x1fana\x1fs\x1fa": []byte(`{"day":"2001-01-01","person":"ana","session":"s","agent":"a","input":9}`),
		"usage\nbroken":                      []byte(`{`)}}
	w.open()
	w.must(w.ledger.SetBudget(t.Context(), usage.Budget{Day: usage.Limit{Tokens: 7}}))
	w.open()
	if rows := w.ledger.Rows("0000", "9999", ""); len(rows) != 1 || rows[0].Input != 7 || len(w.store) != 2 {
		t.Errorf("after a restart there are %+v of %d documents", rows, len(w.store))
	}
	if w.ledger.Check("ana", session) == "" {
		t.Error("the budget is not used up after a restart")
	}
}
