package people

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ahphub/ahphub/hub/ids"
)

const auditBucket = "audit"

// Event is one line of the audit: who did what, to what. It never holds a secret.
type Event struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"` // principal id; "" for somebody unknown
	Name string    `json:"name,omitempty"`
	What string    `json:"what"`           // as in "signed in", "joined"
	On   string    `json:"on,omitempty"`   // a link's id, a session's URI
	From string    `json:"from,omitempty"` // address of the peer
}

type deedKey struct{}

// Deed is what a handler says of what it did, beyond what its route tells.
type Deed struct {
	Detail  string
	Nothing bool // there was nothing to do, so nothing is written down
}

// WithDeed lets a handler say what it did: that is in the Deed when it is done.
func WithDeed(ctx context.Context) (context.Context, *Deed) {
	d := new(Deed)
	return context.WithValue(ctx, deedKey{}, d), d
}

// Detail says more of what a request does, as in "revert".
func Detail(ctx context.Context, text string) {
	if d, ok := ctx.Value(deedKey{}).(*Deed); ok {
		d.Detail = text
	}
}

// DidNothing says that a request changed nothing, although it succeeds.
func DidNothing(ctx context.Context) {
	if d, ok := ctx.Value(deedKey{}).(*Deed); ok {
		d.Nothing = true
	}
}

// Audit is append-only: there is no call that changes or deletes an event.
type Audit struct {
	Store Store
	Now   func() time.Time // default time.Now
}

// Add writes an event; At is filled in.
func (a Audit) Add(ctx context.Context, e Event) error {
	now := a.Now
	if now == nil {
		now = time.Now
	}
	e.At = now().UTC()
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return a.Store.Add(ctx, auditBucket, ids.New(), b)
}

// List returns all events, oldest first.
func (a Audit) List(ctx context.Context) ([]Event, error) {
	var out []Event
	err := a.Store.Each(ctx, auditBucket, func(_ string, b []byte) error {
		var e Event
		err := json.Unmarshal(b, &e)
		out = append(out, e)
		return err
	})
	return out, err
}
