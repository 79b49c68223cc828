package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// Call is an audited call: an intent until Done records its outcome. A nil Call is not audited.
type Call struct {
	log     *Log
	entry   Entry
	carried bool // it is one action, whose entry is written with it

	mu      sync.Mutex
	detail  string
	nothing bool
	what    string            // replaces the entry's What
	who     *access.Principal // set if it is only known at the end
}

type callKey struct{}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Detail adds detail to the entry of a call, as in "revert". For a Carried call, call it before the
// action.
func Detail(ctx context.Context, text string) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.detail = text
	}
}

// DidNothing records that a successful call changed nothing.
func DidNothing(ctx context.Context) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.nothing = true
	}
}

// IsFor sets the principal of a call, if it is only known at the end.
func (c *Call) IsFor(who access.Principal) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.who = &who
}

// markDenied marks the request as denied. Denied requests are recorded too.
func (c *Call) markDenied() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.what = c.entry.What + " (failed)"
}

func (c *Call) words() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return detailed(c.entry.What, c.detail)
}

func detailed(what, detail string) string {
	if detail == "" {
		return what
	}
	return what + ": " + detail
}

// Kind is how the effects of a call relate to the timeline.
type Kind int

// The kinds.
const (
	Inside  Kind = iota // its effects are steps of the timeline: its intent is written before them, in order
	Outside             // it has effects elsewhere: its intent is durable before they begin
	Carried             // it is one audited action, whose entry is written with it
)

// Begin writes the intent of e and returns a context to run the call in, and the Call; call its
// Done. After an error the intent is not written, and the call must not run.
func (l *Log) Begin(ctx context.Context, kind Kind, e Entry) (context.Context, *Call, error) {
	if l == nil {
		return ctx, nil, nil
	}
	e.At, e.From = l.cfg.Now().UTC(), origin(ctx)
	c := &Call{log: l, entry: e, carried: kind == Carried}
	ctx = context.WithValue(ctx, callKey{}, c)
	if c.carried {
		return ctx, c, nil
	}
	c.entry.ID = ids.New()
	since := l.cfg.Hub.Position()
	err := l.cfg.Hub.Do(func(tx *hub.Tx) { record(tx, row{Entry: c.entry, Intent: true}) })
	if err == nil && kind == Outside {
		err = l.cfg.Hub.Settle(ctx, since)
	}
	if err != nil {
		c.Done(ctx, errNotBegun)
		return ctx, nil, fmt.Errorf("the audit cannot be written, so nothing was done: %w", err)
	}
	return ctx, c, nil
}

var errNotBegun = ahp.Errorf(ahp.CodeInternalError, "the intent was not written")

// Done records the outcome of the call: done, refused or failed.
func (c *Call) Done(ctx context.Context, err error) {
	if c == nil || c.carried {
		return
	}
	r := row{Of: c.entry.ID}
	r.At = c.log.cfg.Now().UTC()
	c.mu.Lock()
	if c.who != nil {
		r.Who, r.Name = c.who.ID, c.who.Name
	}
	if r.What = c.what; c.detail != "" {
		r.What = detailed(c.entry.What, c.detail)
	}
	switch {
	case err == nil && !c.nothing:
		r.Outcome = Done
	case err == nil || isRefusal(err):
		r.Outcome = nothing
	default:
		r.Outcome = Failed
	}
	c.mu.Unlock()
	c.log.write(ctx, r)
}

// refusal is an error of a call that had no effect.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refusal marks err, for Done, as an error of a call that was refused before it had an effect; nil
// stays nil.
func Refusal(err error) error {
	if err == nil || errors.Is(err, hub.ErrUnsaved) {
		return err
	}
	return refusal{err}
}

// isRefusal reports whether an error means that nothing was done.
func isRefusal(err error) bool {
	if _, ok := errors.AsType[refusal](err); ok {
		return true
	}
	if _, ok := errors.AsType[*ahp.Error](err); ok {
		return true
	}
	_, denied := errors.AsType[*access.Denied](err)
	return denied || errors.Is(err, hub.ErrReadOnly) || errors.Is(err, hub.ErrUnknownChannel)
}
