package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/audit"
)

// pages reads all pages.
func (w *world) pages(q audit.Query) (all []audit.Entry, pages int) {
	w.t.Helper()
	for {
		p, err := w.log.Page(w.t.Context(), q)
		must(w.t, err)
		if len(p.Entries) > q.Limit {
			w.t.Fatalf("%d entries on a page of %d", len(p.Entries), q.Limit)
		}
		all, pages = append(all, p.Entries...), pages+1
		if q.Before = p.Next; p.Next == "" {
			return all, pages
		}
	}
}

// begin starts a call.
func (w *world) begin(what string) *audit.Call {
	w.t.Helper()
	_, call, err := w.log.Begin(w.t.Context(), audit.Inside, audit.Entry{Who: ana.ID, What: what})
	must(w.t, err)
	return call
}

// Pages of any size together equal the list, even if an outcome and its intent are on different
// pages.
func TestPagesAreTheList(t *testing.T) {
	w := newWorld(t, t.TempDir())
	long, lost := w.begin("took long"), w.begin("goes on")
	for i := range 5 {
		c := w.begin(fmt.Sprint("call ", i))
		w.log.Note(t.Context(), audit.Entry{What: "joined"})
		switch i {
		case 1:
			c.Done(t.Context(), audit.Refusal(errors.New("no")))
		case 2:
			defer c.Done(t.Context(), nil)
		case 3:
			c.Done(t.Context(), errors.New("the disk"))
		default:
			c.Done(t.Context(), nil)
		}
	}
	long.Done(t.Context(), errors.New("the disk"))
	defer lost.Done(t.Context(), nil)
	want := w.list()
	slices.Reverse(want)
	for limit := 1; limit <= len(want)+1; limit++ {
		got, pages := w.pages(audit.Query{Limit: limit})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("in pages of %d: %s", limit, d)
		}
		if least := (len(want) + limit - 1) / limit; pages != least {
			t.Errorf("%d entries in pages of %d are %d pages, want %d", len(want), limit, pages, least)
		}
	}
	joined, pages := w.pages(audit.Query{Limit: 2, Match: func(e audit.Entry) bool { return e.What == "joined" }})
	if len(joined) != 5 || pages != 3 {
		t.Errorf("%d entries on %d pages, want 5 on 3", len(joined), pages)
	}
}

// counting counts the rows read from a store.
type counting struct {
	audit.Store
	rows int
}

func (c *counting) AuditBefore(ctx context.Context, before int64, visit func(int64, []byte) bool) error {
	return c.Store.AuditBefore(ctx, before, func(n int64, b []byte) bool { c.rows++; return visit(n, b) })
}

// In an audit of any length, a page only reads what it shows, and a filter without matches
// terminates.
func TestPageReadsOnlyShownEntries(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for range 300 {
		w.log.Note(t.Context(), audit.Entry{What: "joined"})
	}
	c := &counting{Store: w.store}
	l := audit.New(audit.Config{Hub: w.hub, Store: c})
	p, err := l.Page(t.Context(), audit.Query{Limit: 10})
	must(t, err)
	if c.rows > 11 || len(p.Entries) != 10 {
		t.Errorf("%d rows were read for %d entries", c.rows, len(p.Entries))
	}
	c.rows = 0
	p, err = l.Page(t.Context(), audit.Query{Limit: 10, Before: p.Next})
	must(t, err)
	if c.rows > 11 || len(p.Entries) != 10 {
		t.Errorf("%d rows were read for %d entries of the second page", c.rows, len(p.Entries))
	}
	l = audit.New(audit.Config{Hub: w.hub, Store: endless{}})
	p, err = l.Page(t.Context(), audit.Query{Limit: 10, Match: func(audit.Entry) bool { return false }})
	if err != nil || len(p.Entries) != 0 || p.Next == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// endless is an endless audit.
type endless struct{ audit.Store }

func (endless) AuditBefore(_ context.Context, _ int64, visit func(int64, []byte) bool) error {
	for n := int64(1 << 60); visit(n, []byte(`{"what":"joined"}`)); n-- {
	}
	return nil
}

func TestInvalidPlaceIsRefused(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for _, place := range []string{"x", "0", "1.", "1.x", "1.-2", "9223372036854775807", "99999999999999999999", "1" +
		strings.Repeat(".1", 300)} {
		if _, err := w.log.Page(t.Context(), audit.Query{Limit: 1, Before: place}); !errors.Is(err, audit.ErrPage) {
			t.Errorf("%.20q: %v", place, err)
		}
	}
	for _, place := range []string{"5", "-5", "1.7.9"} {
		if p, err := w.log.Page(t.Context(), audit.Query{Limit: 1, Before: place}); err != nil || len(p.Entries) != 0 ||
			p.Next != "" {
			t.Errorf("%q: %+v, %v", place, p, err)
		}
	}
}
