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

// AuditLog reads the audit.
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

// outcomeWords describe outcomes other than success.
var outcomeWords = map[audit.Outcome]string{
	audit.Failed:   "Failed. Part of it may have happened",
	audit.UnderWay: "In progress",
	audit.Unknown:  "Outcome unknown. ahphub stopped before this finished",
}

// outcomeMarks colour outcomes that need attention.
var outcomeMarks = map[audit.Outcome]string{audit.Failed: "bad", audit.Unknown: "warn"}

// linksCalled describes links by id, because other pages do not show their ids.
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

// ExportAudit serves the matching entries as JSON lines, oldest first.
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
		out.begin() // for an empty export too
	case !out.begun:
		return err
	case out.err == nil: // the server logs the error and aborts the connection, so that the reader sees it
		panic(fmt.Errorf("the export of the audit failed half way: %w", err))
	}
	return nil // the client disconnected
}

// export writes a download of entries. Its headers are sent with the first entry, so that an earlier failure can
// still be answered with an error.
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

// auditMatch returns a filter for events of a kind that contain the words.
func auditMatch(what, words string) func(audit.Entry) bool {
	words = strings.ToLower(strings.TrimSpace(words))
	return func(e audit.Entry) bool {
		text := strings.ToLower(strings.Join([]string{e.Who, e.Name, e.What, e.On, e.From}, "\n"))
		return (what == "" || e.Kind() == what) && strings.Contains(text, words)
	}
}

// auditKinds returns the kinds to choose from: all known ones, and those on the page.
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
