package audit

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Config of a Log. Zero fields take the stated default.
type Config struct {
	Hub   *hub.Hub
	Store Store
	Now   func() time.Time // default time.Now
	Log   *slog.Logger     // default slog.Default()
}

// Log writes the audit. A nil Log writes nothing.
type Log struct {
	cfg     Config
	lately  *lately
	started time.Time // older intents without an outcome never get one

	next pending // the action that is being applied; guarded by the hub's lock
}

// New returns a Log that writes through the hub's journal.
func New(cfg Config) *Log {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Log{cfg: cfg, lately: newLately(), started: cfg.Now()}
}

// pending is an accepted action and its entry.
type pending struct {
	action ahp.Action
	entry  Entry
	call   *Call
}

// rowSize is the approximate size of an encoded row.
const rowSize = 200

func record(tx *hub.Tx, r row) {
	tx.RecordLater(bucket, r.ID, rowSize, func() ([]byte, error) { return json.Marshal(r) })
}

// Action wraps the check of an action that who dispatches: if the action is audited, Derive writes
// its entry in the step that applies it.
func (l *Log) Action(ctx context.Context, who access.Principal, channel ahp.URI, check hub.Check) hub.Check {
	if l == nil {
		return check
	}
	return func(tx *hub.Tx, s ahp.State, a ahp.Action) (ahp.Action, string) {
		stamped, refused := check(tx, s, a)
		l.next = pending{}
		if refused != "" {
			return stamped, refused
		}
		if what := actions[stamped.ActionType()]; what != "" {
			l.expect(tx, ctx, who, channel, stamped, what)
		}
		return stamped, refused
	}
}

// expect stores the entry of an action until the action is applied. Terminal input changes no
// state, so its entry is written immediately, at most once a minute per holder. The hub's lock is
// held.
func (l *Log) expect(tx *hub.Tx, ctx context.Context, who access.Principal, channel ahp.URI, a ahp.Action,
	what string) {
	now := l.cfg.Now().UTC()
	e := Entry{At: now, Who: who.ID, Name: who.Name, What: what, On: channel, From: origin(ctx)}
	call := callOf(ctx)
	if call != nil && !call.carried {
		return // its intent is already written
	}
	if _, keys := a.(*ahp.TerminalInputAction); keys {
		if l.lately.isDue(who.ID+" "+channel, now) {
			record(tx, row{Entry: e})
		}
		return
	}
	l.next = pending{action: a, entry: e, call: call}
}

// Derive writes the entry of the last applied action. Call it in the action's step.
func (l *Log) Derive(tx *hub.Tx, e *hub.Envelope) {
	if l == nil || l.next.action == nil || e.Action != l.next.action {
		return
	}
	p := l.next
	l.next = pending{}
	p.entry.Seq = e.Seq
	if p.call != nil {
		p.entry.What = p.call.words()
	}
	record(tx, row{Entry: p.entry})
}

// Note records an event without effects, such as a refused sign-in.
func (l *Log) Note(ctx context.Context, e Entry) {
	if l == nil {
		return
	}
	e.At, e.From = l.cfg.Now().UTC(), origin(ctx)
	l.write(ctx, row{Entry: e})
}

func (l *Log) write(ctx context.Context, r row) {
	if err := l.cfg.Hub.Do(func(tx *hub.Tx) { record(tx, r) }); err != nil {
		l.cfg.Log.ErrorContext(ctx, "the audit was not written", "what", r.What, "err", err)
	}
}

const (
	latelyEvery = time.Minute
	mostLately  = 1000
)

// lately limits frequent events, such as typing, to one entry a minute.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newLately() *lately { return &lately{at: map[string]time.Time{}} }

// isDue reports whether a key had no entry in the last minute, and records one.
func (l *lately) isDue(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.at[key]) < latelyEvery {
		return false
	}
	if len(l.at) >= mostLately {
		clear(l.at)
	}
	l.at[key] = now
	return true
}

type originKey struct{}

// WithOrigin returns a context whose entries have the address of a request.
func WithOrigin(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, originKey{}, address)
}

func origin(ctx context.Context) string {
	address, _ := ctx.Value(originKey{}).(string)
	return address
}
