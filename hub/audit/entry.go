package audit

import (
	"context"
	"time"
)

// bucket holds the records that the store adds to the audit.
const bucket = "audit"

// Entry is one line of the audit. It never holds a secret.
type Entry struct {
	ID   string    `json:"id,omitempty"` // of an intent; its outcome names it
	At   time.Time `json:"at"`
	Who  string    `json:"who"` // principal id; "" for an unknown visitor
	Name string    `json:"name,omitempty"`
	What string    `json:"what"`           // as in "signed in", "joined"
	On   string    `json:"on,omitempty"`   // a link's id, a session's URI
	From string    `json:"from,omitempty"` // address of the peer
	Seq  int64     `json:"seq,omitempty"`  // serverSeq of the entry's action

	Outcome Outcome `json:"outcome,omitempty"`
}

// Outcome is the outcome of an intent.
type Outcome string

// The outcomes. Finished calls and single actions have none.
const (
	Done     Outcome = ""
	Failed   Outcome = "failed"   // part of it may have happened
	UnderWay Outcome = "underway" // it has not ended
	Unknown  Outcome = "unknown"  // the program stopped in between
)

// nothing is the outcome of refused calls and those without effect: their intents are not listed.
const nothing Outcome = "nothing"

// row is a stored row: an entry, an intent, or an outcome.
type row struct {
	Entry
	Intent bool   `json:"intent,omitempty"`
	Of     string `json:"of,omitempty"` // id of the intent, for an outcome
}

// Store reads the stored entries, oldest first.
type Store interface {
	AuditEntries(ctx context.Context, visit func(entry []byte) error) error

	// AuditBefore calls visit with the entries before a place, newest first, until it returns
	// false. 0 returns all.
	AuditBefore(ctx context.Context, before int64, visit func(place int64, entry []byte) bool) error
}

// settle waits until the newest entries are stored.
func (l *Log) settle(ctx context.Context) {
	if err := l.cfg.Hub.Settle(ctx, 0); err != nil {
		l.cfg.Log.WarnContext(ctx, "the newest entries of the audit are not listed", "err", err)
	}
}

// outcomeOf returns the outcome of an intent without one: it is still running, or the program
// stopped.
func (l *Log) outcomeOf(intent *row) Outcome {
	if intent.At.Before(l.started) {
		return Unknown
	}
	return UnderWay
}

// ended returns an intent with its outcome; what is only known at the end replaces earlier fields.
func (r *row) ended(e Entry) Entry {
	e.Outcome = r.Outcome
	if r.What != "" {
		e.What = r.What
	}
	if r.Who != "" {
		e.Who, e.Name = r.Who, r.Name
	}
	return e
}
