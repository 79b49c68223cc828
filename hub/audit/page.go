package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Query selects a part of the audit, newest first.
type Query struct {
	Before string             // Next of the previous page; "": the newest entries
	Limit  int                // entries
	Match  func(e Entry) bool // nil: every entry
}

// Page is a part of the audit.
type Page struct {
	Entries []Entry // newest first
	Next    string  // for the next Query; "" on the last page
}

// ErrPage reports a Query with an invalid place.
var ErrPage = errors.New("this address names no place in the audit: open the audit again")

const (
	mostRead = 20_000 // rows read for one page; rare matches may be on later pages
	mostOpen = 256    // outcomes whose intents are on later pages
)

// Page returns a page of the audit. It reads no more than it needs.
func (l *Log) Page(ctx context.Context, q Query) (Page, error) {
	at, err := parsePlace(q.Before)
	if err != nil {
		return Page{}, err
	}
	if at.before == 0 {
		l.settle(ctx)
	}
	r := pageReader{log: l, query: q, ends: map[string]end{}}
	for _, place := range at.open { // their intents may be on this page
		if err := r.readEnd(ctx, place); err != nil {
			return Page{}, err
		}
	}
	err = l.cfg.Store.AuditBefore(ctx, at.before, r.visit)
	if err = errors.Join(err, r.err); err != nil {
		return Page{}, err
	}
	if r.more {
		r.page.Next = r.next
	}
	return r.page, nil
}

// end is the outcome of an intent, with its place.
type end struct {
	row   row
	place int64
}

// pageReader reads entries from newest to oldest, so that an outcome precedes its intent.
type pageReader struct {
	log   *Log
	query Query
	ends  map[string]end // outcomes whose intents are not read yet, by id
	page  Page
	read  int
	next  string // place after the last entry of the page
	more  bool
	err   error
}

// readEnd reads the outcome at a place.
func (r *pageReader) readEnd(ctx context.Context, place int64) error {
	return r.log.cfg.Store.AuditBefore(ctx, place+1, func(n int64, entry []byte) bool {
		var o row
		if n == place && json.Unmarshal(entry, &o) == nil && o.Of != "" {
			r.ends[o.Of] = end{o, n}
		}
		return false
	})
}

func (r *pageReader) visit(place int64, entry []byte) bool {
	if r.read++; r.read > mostRead {
		if r.more = true; r.next == "" {
			r.next = r.place(cmp.Or(place+1, 1)) // places below 1 are entries older than the chain
		}
		return false
	}
	var o row
	if r.err = json.Unmarshal(entry, &o); r.err != nil {
		return false
	}
	if o.Of != "" {
		r.ends[o.Of] = end{o, place}
		return true
	}
	e := o.Entry
	if o.Intent {
		e = r.ended(&o)
	}
	if e.Outcome == nothing || r.query.Match != nil && !r.query.Match(e) {
		return true
	}
	if len(r.page.Entries) == r.query.Limit {
		r.more = true
		return false
	}
	if r.page.Entries = append(r.page.Entries, e); len(r.page.Entries) == r.query.Limit {
		r.next = r.place(place)
	}
	return true
}

// ended returns an intent with its outcome.
func (r *pageReader) ended(intent *row) Entry {
	e := intent.Entry
	o, known := r.ends[intent.ID]
	if !known {
		e.Outcome = r.log.outcomeOf(intent)
		return e
	}
	delete(r.ends, intent.ID)
	return o.row.ended(e)
}

// place encodes where the next page begins: before an entry, with the outcomes whose intents are
// still to come.
func (r *pageReader) place(before int64) string {
	var open []int64
	for _, o := range r.ends {
		open = append(open, o.place)
	}
	slices.Sort(open)
	text := strconv.FormatInt(before, 10)
	for _, n := range open[:min(len(open), mostOpen)] {
		text += "." + strconv.FormatInt(n, 10)
	}
	return text
}

// pagePlace is a decoded place.
type pagePlace struct {
	before int64
	open   []int64
}

func parsePlace(text string) (p pagePlace, err error) {
	if text == "" {
		return p, nil
	}
	words := strings.Split(text, ".")
	if len(words) > 1+mostOpen {
		return p, ErrPage
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n == 0 || i > 0 && n < 1 || n == 1<<63-1 {
			return p, ErrPage
		}
		if i == 0 {
			p.before = n
		} else {
			p.open = append(p.open, n)
		}
	}
	return p, nil
}
