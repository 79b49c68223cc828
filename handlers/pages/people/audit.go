package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/templ/page"
)

// AuditLog is what was done.
type AuditLog interface {
	Each(ctx context.Context, visit func(audit.Entry) error) error // oldest first
	Page(ctx context.Context, q audit.Query) (audit.Page, error)   // newest first
}

// auditPage is how many events a page shows.
const auditPage = 200

// ShowAudit serves GET /audit?what=&q=&before=, newest first.
func (p *Pages) ShowAudit(w http.ResponseWriter, r *http.Request) error {
	if p.Audit == nil {
		return errNoAudit
	}
	q := r.URL.Query()
	what, words := q.Get("what"), q.Get("q")
	found, err := p.Audit.Page(r.Context(), audit.Query{Before: q.Get("before"), Limit: auditPage,
		Match: auditMatch(what, words)})
	if errors.Is(err, audit.ErrPage) {
		return site.BadRequest(site.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	f := p.Frame(r, "Audit log", "people")
	f.Styles = append(f.Styles, "css/people.css")
	m := page.Audit{Frame: f, What: what, Query: words, Kinds: auditKinds(found.Entries, what)}
	links := p.linksCalled()
	for _, e := range found.Entries {
		if link := links[e.On]; link != "" {
			e.What, e.On = e.What+" "+link, ""
		}
		m.Events = append(m.Events, page.AuditEvent{At: e.At, Who: e.Who, Name: e.Name, What: e.What, On: e.On,
			From: e.From, Outcome: outcomeWords[e.Outcome], Mark: outcomeMarks[e.Outcome]})
	}
	filter := url.Values{"what": {what}, "q": {words}}
	m.Export = "/audit.jsonl?" + filter.Encode()
	if q.Get("before") != "" {
		m.Newest = "/audit?" + filter.Encode()
	}
	if found.Next != "" {
		filter.Set("before", found.Next)
		m.Older = "/audit?" + filter.Encode()
	}
	return site.Send(w, http.StatusOK, page.AuditPage(m))
}

// outcomeWords say how an entry ended that is not simply done.
var outcomeWords = map[audit.Outcome]string{
	audit.Failed:   "Failed. Part of it may have happened",
	audit.UnderWay: "In progress",
	audit.Unknown:  "Outcome unknown. ahphub stopped before this finished",
}

// outcomeMarks colour the outcomes that an owner looks for.
var outcomeMarks = map[audit.Outcome]string{audit.Failed: "bad", audit.Unknown: "warn"}

// linksCalled returns words for the ids of links, which are shown nowhere else.
func (p *Pages) linksCalled() map[string]string {
	out := map[string]string{}
	if p.Links == nil {
		return out
	}
	for _, l := range p.Links.List("") {
		title := "a deleted session"
		if s, ok := p.Host.Summary(l.Session); ok {
			title = site.SessionTitle(s.Title)
		}
		out[l.ID] = "with a " + string(l.Role) + " link to " + title
	}
	return out
}

// ExportAudit serves the same as JSON lines, oldest first, all of it.
func (p *Pages) ExportAudit(w http.ResponseWriter, r *http.Request) error {
	if p.Audit == nil {
		return errNoAudit
	}
	match := auditMatch(r.URL.Query().Get("what"), r.URL.Query().Get("q"))
	out := &export{w: w}
	err := p.Audit.Each(r.Context(), func(e audit.Entry) error {
		if !match(e) {
			return nil
		}
		return out.write(e)
	})
	switch {
	case err == nil:
		out.begin() // also of an empty one
	case !out.begun:
		return err
	case out.err == nil: // the reader is to see that this is not all of it: the server logs it and aborts the connection
		panic(fmt.Errorf("the export of the audit failed half way: %w", err))
	}
	return nil // the reader left
}

// export writes a download of entries. Its headers are sent with the first entry, so that what fails before can still
// be answered with an error.
type export struct {
	w     http.ResponseWriter
	out   *json.Encoder
	begun bool
	err   error // of the connection
}

func (x *export) begin() {
	if x.begun {
		return
	}
	x.begun, x.out = true, json.NewEncoder(x.w)
	x.w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	x.w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	x.w.Header().Set("Cache-Control", "no-store")
}

func (x *export) write(e audit.Entry) error {
	x.begin()
	x.err = x.out.Encode(e)
	return x.err
}

var errNoAudit = site.NotFound("This server keeps no audit log.")

// auditMatch returns a filter for events of a kind in which the words stand somewhere.
func auditMatch(what, words string) func(audit.Entry) bool {
	words = strings.ToLower(strings.TrimSpace(words))
	return func(e audit.Entry) bool {
		text := strings.ToLower(strings.Join([]string{e.Who, e.Name, e.What, e.On, e.From}, "\n"))
		return (what == "" || e.Kind() == what) && strings.Contains(text, words)
	}
}

// auditKinds returns the kinds to choose from: those there can be, and those that are on the page.
func auditKinds(shown []audit.Entry, chosen string) []string {
	all := audit.Kinds()
	for i := range shown {
		all = append(all, shown[i].Kind())
	}
	if chosen != "" {
		all = append(all, chosen)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
