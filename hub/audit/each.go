package audit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// mostHeld limits the entries that Each holds back for the outcome of an older one before it looks
// the outcome up.
const mostHeld = 1000

// List returns all entries, oldest first, with the outcomes of intents.
func (l *Log) List(ctx context.Context) (all []Entry, err error) {
	err = l.Each(ctx, func(e Entry) error { all = append(all, e); return nil })
	return all, err
}

// Each calls visit with every entry, oldest first, with the outcomes of intents, until visit
// returns an error. It holds a bounded number of entries in memory: a first pass finds the intents
// without an outcome; the second holds an entry back only while an earlier intent waits for its
// outcome.
func (l *Log) Each(ctx context.Context, visit func(Entry) error) error {
	l.settle(ctx)
	open, err := l.findOpen(ctx)
	if err != nil {
		return err
	}
	r := eachReader{log: l, open: open, visit: visit, waiting: map[string]*held{}}
	if err := l.cfg.Store.AuditEntries(ctx, func(b []byte) error { return r.read(ctx, b) }); err != nil {
		return err
	}
	return r.pass(true)
}

// findOpen returns the ids of the intents without an outcome.
func (l *Log) findOpen(ctx context.Context) (map[string]bool, error) {
	open := map[string]bool{}
	err := l.cfg.Store.AuditEntries(ctx, func(b []byte) error {
		var r row
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		if r.Intent {
			open[r.ID] = true
		}
		delete(open, r.Of)
		return nil
	})
	return open, err
}

// held is an entry that waits for its own or an older outcome.
type held struct {
	row   row
	entry Entry
	ready bool // its outcome is known
}

// eachReader reads entries from oldest to newest, so that an intent precedes its outcome.
type eachReader struct {
	log     *Log
	open    map[string]bool // intents without an outcome
	visit   func(Entry) error
	held    []*held
	waiting map[string]*held // held intents without an outcome so far, by id
}

func (r *eachReader) read(ctx context.Context, b []byte) error {
	var o row
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.Of != "" {
		if h := r.waiting[o.Of]; h != nil { // otherwise it is newer than the first pass, or was looked up
			r.settle(h, &o)
		}
		return r.pass(false)
	}
	h := &held{row: o, entry: o.Entry, ready: !o.Intent}
	if o.Intent && r.open[o.ID] {
		h.entry.Outcome, h.ready = r.log.outcomeOf(&o), true
	}
	if !h.ready {
		r.waiting[o.ID] = h
	}
	r.held = append(r.held, h)
	if len(r.held) > mostHeld {
		if err := r.lookUp(ctx, r.held[0]); err != nil {
			return err
		}
	}
	return r.pass(false)
}

// settle sets the outcome of an intent.
func (r *eachReader) settle(h *held, outcome *row) {
	h.entry, h.ready = outcome.ended(h.entry), true
	delete(r.waiting, h.row.ID)
}

var errFound = errors.New("it was found")

// lookUp reads ahead for the outcome of an intent, and sets others found on the way.
func (r *eachReader) lookUp(ctx context.Context, first *held) error {
	err := r.log.cfg.Store.AuditEntries(ctx, func(b []byte) error {
		var o row
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		if h := r.waiting[o.Of]; o.Of != "" && h != nil {
			r.settle(h, &o)
		}
		if first.ready {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	if err == nil {
		first.entry.Outcome, first.ready = r.log.outcomeOf(&first.row), true
		delete(r.waiting, first.row.ID)
	}
	return err
}

// pass visits the entries before the first without a known outcome; at the end, all of them.
func (r *eachReader) pass(end bool) error {
	n := 0
	for _, h := range r.held {
		if !h.ready {
			if !end {
				break
			}
			h.entry.Outcome = r.log.outcomeOf(&h.row)
		}
		n++
		if h.entry.Outcome == nothing {
			continue
		}
		if err := r.visit(h.entry); err != nil {
			return err
		}
	}
	r.held = slices.Delete(r.held, 0, n)
	return nil
}
