package people

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/templ/page"
)

// AuditLog is what was done, oldest first.
type AuditLog interface {
	List(ctx context.Context) ([]audit.Entry, error)
}

// auditPage is how many events a page shows.
const auditPage = 200

// ShowAudit serves GET /audit?what=&q=&skip=, newest first.
func (p *Pages) ShowAudit(w http.ResponseWriter, r *http.Request) error {
	all, err := p.auditList(r.Context())
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := p.Frame(r, "Audit", "people")
	f.Styles = append(f.Styles, "css/people.css")
	m := page.Audit{Frame: f, What: q.Get("what"), Query: q.Get("q"), Kinds: auditKinds(all)}
	found := auditFilter(all, m.What, m.Query)
	slices.Reverse(found)
	skip, _ := strconv.Atoi(q.Get("skip")) // what is no number starts at the newest
	skip = min(max(skip, 0), len(found))
	links := p.linksCalled()
	for _, e := range found[skip:min(skip+auditPage, len(found))] {
		if link := links[e.On]; link != "" {
			e.What, e.On = e.What+" "+link, ""
		}
		m.Events = append(m.Events, page.AuditEvent{At: e.At, Who: e.Who, Name: e.Name, What: e.What, On: e.On, From: e.From, Outcome: outcomeWords[e.Outcome]})
	}
	filter := url.Values{"what": {m.What}, "q": {m.Query}}
	m.Export = "/audit.jsonl?" + filter.Encode()
	if left := len(found) - skip - len(m.Events); left > 0 {
		filter.Set("skip", strconv.Itoa(skip+auditPage))
		m.Older, m.Left = "/audit?"+filter.Encode(), left
	}
	return site.Send(w, http.StatusOK, page.AuditPage(m))
}

// outcomeWords say how an entry ended that is not simply done.
var outcomeWords = map[audit.Outcome]string{
	audit.Failed:   "Failed. Part of it may have happened",
	audit.UnderWay: "In progress",
	audit.Unknown:  "Outcome unknown. ahphub stopped before this finished",
}

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
		out[l.ID] = "by a " + string(l.Role) + "’s link to " + title
	}
	return out
}

// ExportAudit serves the same as JSON lines, oldest first, all of it.
func (p *Pages) ExportAudit(w http.ResponseWriter, r *http.Request) error {
	all, err := p.auditList(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	for _, e := range auditFilter(all, r.URL.Query().Get("what"), r.URL.Query().Get("q")) {
		if out.Encode(e) != nil {
			return nil // the reader left
		}
	}
	return nil
}

func (p *Pages) auditList(ctx context.Context) ([]audit.Entry, error) {
	if p.Audit == nil {
		return nil, site.NotFound("This host keeps no audit.")
	}
	return p.Audit.List(ctx)
}

// auditFilter keeps events of a kind in which the words stand somewhere.
func auditFilter(all []audit.Entry, what, words string) []audit.Entry {
	words = strings.ToLower(strings.TrimSpace(words))
	var out []audit.Entry
	for _, e := range all {
		text := strings.ToLower(strings.Join([]string{e.Who, e.Name, e.What, e.On, e.From}, "\n"))
		if (what == "" || kindOf(e) == what) && strings.Contains(text, words) {
			out = append(out, e)
		}
	}
	return out
}

// kindOf returns the action of an entry without the detail, as in "made a token" for "made a token: laptop".
func kindOf(e audit.Entry) string {
	kind, _, _ := strings.Cut(e.What, ": ")
	return kind
}

func auditKinds(all []audit.Entry) []string {
	var out []string
	for _, e := range all {
		if kind := kindOf(e); !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}
