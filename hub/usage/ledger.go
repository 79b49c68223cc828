package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	bucket = "usage"

	Keep     = 400     // days that rows are kept
	MostRows = 100_000 // rows in memory; the oldest day is dropped first
)

// Store keeps documents; each write returns once it is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Get(ctx context.Context, bucket, key string) ([]byte, bool, error)
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Row is the usage of a person's turns in a session on a day.
type Row struct {
	Day     string  `json:"day"` // in UTC, as 2006-01-02
	Person  string  `json:"person"`
	Name    string  `json:"name"`
	Session ahp.URI `json:"session"`
	Agent   string  `json:"agent"`
	Amount
}

func (r *Row) key() string {
	return strings.Join([]string{r.Day, r.Person, r.Session, r.Agent}, "\x1f")
}

// Config of a ledger.
type Config struct {
	Store  Store                                   // nil: in memory only
	Sender func(ahp.Message) (person, name string) // author of a message; "" for none
	Owner  string                                  // the owner's id, for texts to people
	Count  func(agent string, a Amount)            // updates metrics; nil: none
	Now    func() time.Time
}

// Ledger holds the rows in memory.
type Ledger struct {
	cfg Config

	mu     sync.Mutex
	rows   map[string]*Row
	sums   map[string]*Amount // by day and person, by month and person, and by session
	runs   map[ahp.URI]Amount // what a chat's running turn has reported so far
	budget Budget
}

// Open reads the stored rows and removes expired ones.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Ledger{cfg: cfg, rows: map[string]*Row{}, sums: map[string]*Amount{}, runs: map[ahp.URI]Amount{}}
	if cfg.Store == nil {
		return l, nil
	}
	if err := l.readBudget(ctx); err != nil {
		return nil, err
	}
	oldest := cfg.Now().UTC().AddDate(0, 0, -Keep).Format(time.DateOnly)
	var old []string
	err := cfg.Store.Each(ctx, bucket, func(key string, value []byte) error {
		var r Row
		if json.Unmarshal(value, &r) != nil || r.key() != key || r.Day < oldest || len(l.rows) >= MostRows {
			old = append(old, key)
			return nil
		}
		l.rows[key] = &r
		l.sum(&r, r.Amount)
		return nil
	})
	for _, key := range old {
		if err == nil {
			err = cfg.Store.Delete(ctx, bucket, key)
		}
	}
	return l, err
}

// Derive records the usage of every accepted envelope in the same step; the hub's lock is held.
func (l *Ledger) Derive(tx *hub.Tx, e *hub.Envelope) {
	if e.Channel.Kind != ahp.ChannelChat {
		return
	}
	switch a := e.Action.(type) {
	case *ahp.ChatTurnStartedAction:
		l.forget(e.Channel.URI)
		l.add(tx, e, a.Message, Amount{Turns: 1})
	case *ahp.ChatTurnResumeAction, *ahp.ChatTurnCompleteAction, *ahp.ChatTurnCancelledAction, *ahp.ChatErrorAction:
		l.forget(e.Channel.URI)
	case *ahp.ChatUsageAction:
		s, ok := hub.StateOf[*ahp.ChatState](tx, e.Channel.URI)
		if ok && s.ActiveTurn != nil && s.ActiveTurn.ID == a.TurnID {
			l.add(tx, e, s.ActiveTurn.Message, l.advance(e.Channel.URI, amountOf(a.Usage)))
		}
	}
}

// forget ends a chat's run. A resumed turn is a new run.
func (l *Ledger) forget(chat ahp.URI) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, chat)
}

// advance returns a chat's usage since its last report.
func (l *Ledger) advance(chat ahp.URI, now Amount) Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	more := now.since(l.runs[chat])
	l.runs[chat] = now
	return more
}

// add adds an amount to its row.
func (l *Ledger) add(tx *hub.Tx, e *hub.Envelope, m ahp.Message, more Amount) {
	if more.isZero() {
		return
	}
	r := Row{Day: e.At.UTC().Format(time.DateOnly), Session: e.Channel.Session}
	r.Person, r.Name = l.cfg.Sender(m)
	if s, ok := hub.StateOf[*ahp.SessionState](tx, e.Channel.Session); ok {
		r.Agent = s.Provider
	}
	key := r.key()
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.rows[key]
	if row == nil {
		l.makeRoom(tx)
		row = &r
		l.rows[key] = row
	}
	row.Name = cmp.Or(r.Name, row.Name)
	row.Add(more)
	l.sum(row, more)
	if raw, err := json.Marshal(row); err == nil {
		tx.Record(bucket, key, raw)
	}
	if l.cfg.Count != nil {
		l.cfg.Count(r.Agent, more)
	}
}

// makeRoom removes the oldest day if there are too many rows; l.mu is held.
func (l *Ledger) makeRoom(tx *hub.Tx) {
	if len(l.rows) < MostRows {
		return
	}
	oldest := ""
	for _, r := range l.rows {
		if oldest == "" || r.Day < oldest {
			oldest = r.Day
		}
	}
	for key, r := range l.rows {
		if r.Day == oldest {
			delete(l.rows, key)
			tx.Record(bucket, key, nil)
		}
	}
}

// sum adds an amount to the sums for budgets; l.mu is held, or the ledger is being opened.
func (l *Ledger) sum(r *Row, more Amount) {
	for _, key := range []string{dayKey(r.Day, r.Person), monthKey(r.Day, r.Person), sessionKey(r.Session)} {
		s := l.sums[key]
		if s == nil {
			s = &Amount{}
			l.sums[key] = s
		}
		s.Add(more)
	}
}

func dayKey(day, person string) string       { return "day " + day + " " + person }
func monthKey(day, person string) string     { return "month " + day[:len("2006-01")] + " " + person }
func sessionKey(session ahp.URI) string      { return "session " + session }
func (l *Ledger) today() string              { return l.cfg.Now().UTC().Format(time.DateOnly) }
func byKey(a, b Row) int                     { return cmp.Compare(a.key(), b.key()) }
func (r *Row) isWithin(from, to string) bool { return r.Day >= from && r.Day <= to }

// Rows returns the rows of a range of days, inclusive, by day; person "" is everyone.
func (l *Ledger) Rows(from, to, person string) []Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Row
	for r := range maps.Values(l.rows) {
		if r.isWithin(from, to) && (person == "" || r.Person == person) {
			row := *r
			row.Amount = r.clone()
			out = append(out, row)
		}
	}
	slices.SortFunc(out, byKey)
	return out
}
