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

// Call is something that a caller began: an intent until Done says how it ended. The nil Call is not audited.
type Call struct {
	log     *Log
	entry   Entry
	carried bool // it is one action, whose entry is written with it

	mu      sync.Mutex
	detail  string
	nothing bool
	what    string            // instead of the words of before
	who     *access.Principal // known at the end alone
}

type callKey struct{}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Detail says more of what a call does, as in "revert". For one that carries an action, say it before the action.
func Detail(ctx context.Context, text string) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.detail = text
	}
}

// DidNothing says that a call changed nothing, although it succeeds.
func DidNothing(ctx context.Context) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.nothing = true
	}
}

// IsFor says who a call was for, when that is known at its end alone.
func (c *Call) IsFor(who access.Principal) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.who = &who
}

// inVain says that a request was denied, which is written down too.
func (c *Call) inVain() {
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
	Outside             // it has effects elsewhere: its intent is on disk before they begin
	Carried             // it is one audited action, whose entry is written with it
)

// Begin writes the intent of e and returns a context in which the call is to run, and the call, whose Done must be
// called.
// An error means that the intent could not be written: nothing may be done.
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

// Done writes how the call ended: it was done, refused, or failed on the way.
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

// refusal is an error of a call that did nothing.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refusal marks err, for Done, as one of a call that was refused before it did anything; nil stays nil.
func Refusal(err error) error {
	if err == nil || errors.Is(err, hub.ErrUnsaved) {
		return err
	}
	return refusal{err}
}

// isRefusal reports whether an error says that nothing was done.
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
