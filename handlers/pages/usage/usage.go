// Package usage serves the page about the usage of turns, its export, and the budgets.
package usage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/usage"
	"github.com/ahphub/ahphub/templ/page"
)

const mostSessions = 50 // sessions on the page; the export has all

// Ledger has the recorded usage.
type Ledger interface {
	Rows(from, to, person string) []usage.Row
	Budget() usage.Budget
	SetBudget(context.Context, usage.Budget) error
}

// Host lists the sessions that a person sees.
type Host interface {
	Summaries(core.Caller) []ahp.SessionSummary
}

// Pages are the page of usage, its export and its form.
type Pages struct {
	*site.Site
	host   Host
	ledger Ledger
}

// New returns the pages; without a ledger they answer 404.
func New(s *site.Site, host Host, ledger Ledger) *Pages { return &Pages{s, host, ledger} }

// With wraps h to answer 404 on a server that records no usage.
func (p *Pages) With(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.ledger == nil {
			return site.NotFound("This server does not count usage.")
		}
		w.Header().Set("Cache-Control", "no-store")
		return h(w, r)
	}
}

// Show serves GET /usage?range=: the account's own usage, or everyone's for the owner.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	return p.send(w, r, http.StatusOK, "")
}

func (p *Pages) send(w http.ResponseWriter, r *http.Request, status int, fault string) error {
	who := access.FromContext(r.Context())
	span := spanOf(r.FormValue("range"), p.Now())
	m := page.Usage{Frame: p.Frame(r, "Usage", "settings"), Error: fault, Owner: who.Has(access.RightManage),
		Range: span.name, Export: "/usage.csv?range=" + span.name}
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css", "css/usage.css")
	rows := p.ledger.Rows(span.from, span.to, p.personOf(who))
	titles := p.titles(who)
	people, sessions, days := groups{}, groups{}, groups{}
	var total usage.Amount
	for _, row := range rows {
		total.Add(row.Amount)
		people.add(row.Person, nameOf(row), "", row.Amount)
		title, href := titles.of(row.Session)
		sessions.add(row.Session, title, href, row.Amount)
		days.add(row.Day, row.Day, "", row.Amount)
	}
	m.Total = page.UsageSum(total)
	m.People, m.Sessions = people.sorted(), sessions.sorted()
	m.MoreSessions = max(0, len(m.Sessions)-mostSessions)
	m.Sessions = m.Sessions[:len(m.Sessions)-m.MoreSessions]
	m.Days = span.days(days)
	m.Budget = drawn(p.ledger.Budget())
	m.Spent = p.spent(who.ID)
	return site.Send(w, status, page.UsagePage(m))
}

// personOf returns whose usage a viewer sees; "" for everyone's.
func (p *Pages) personOf(who access.Principal) string {
	if who.Has(access.RightManage) {
		return ""
	}
	return who.ID
}

// spent compares a person's usage with the budgets per person.
func (p *Pages) spent(person string) []page.UsageSpent {
	b, today := p.ledger.Budget(), p.Now().UTC()
	var out []page.UsageSpent
	for _, x := range []struct {
		what, from string
		limit      usage.Limit
	}{
		{"You today", today.Format(time.DateOnly), b.Day},
		{"You this month", today.Format("2006-01") + "-01", b.Month},
	} {
		if x.limit == (usage.Limit{}) {
			continue
		}
		var used usage.Amount
		for _, row := range p.ledger.Rows(x.from, today.Format(time.DateOnly), person) {
			used.Add(row.Amount)
		}
		out = append(out, page.UsageSpent{What: x.what, Limit: page.UsageLimit(x.limit), Used: page.UsageSum(used)})
	}
	return out
}

// SetBudgets changes the budgets.
func (p *Pages) SetBudgets(w http.ResponseWriter, r *http.Request) error {
	var b usage.Budget
	bad := false
	for name, limit := range map[string]*usage.Limit{"day": &b.Day, "month": &b.Month, "session": &b.Session} {
		var err, more error
		limit.Cost, err = number(r.PostFormValue(name+"-cost"), parseCost)
		limit.Tokens, more = number(r.PostFormValue(name+"-tokens"), parseTokens)
		bad = bad || err != nil || more != nil
	}
	err := usage.ErrBudget
	if !bad {
		err = p.ledger.SetBudget(r.Context(), b)
	}
	switch {
	case errors.Is(err, usage.ErrBudget):
		return p.send(w, r, http.StatusUnprocessableEntity, site.Sentence(err.Error()))
	case err != nil:
		return err
	}
	audit.Detail(r.Context(), page.BudgetWords(drawn(b)))
	return site.FinishForm(w, r, "/usage#budgets")
}

// drawn converts the budgets for the page.
func drawn(b usage.Budget) page.UsageBudget {
	return page.UsageBudget{Day: page.UsageLimit(b.Day), Month: page.UsageLimit(b.Month),
		Session: page.UsageLimit(b.Session)}
}

func parseCost(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
func parseTokens(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// number parses a field. An empty field means no limit; zero is invalid.
func number[N int64 | float64](text string, parse func(string) (N, error)) (N, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(text), "$"), ",", "")
	if text == "" {
		return 0, nil
	}
	n, err := parse(text)
	if err != nil || !(n > 0) {
		return 0, usage.ErrBudget
	}
	return n, nil
}

// span is a range of days.
type span struct{ name, from, to string }

// spanOf returns the range of a name; the last 30 days by default.
func spanOf(name string, now time.Time) span {
	now = now.UTC()
	s := span{name: name, to: now.Format(time.DateOnly)}
	switch name {
	case "today":
		s.from = s.to
	case "7":
		s.from = now.AddDate(0, 0, -6).Format(time.DateOnly)
	case "month":
		s.from = now.Format("2006-01") + "-01"
	case "year":
		s.from = now.AddDate(0, 0, 1-usage.Keep).Format(time.DateOnly)
	default:
		s.name, s.from = "30", now.AddDate(0, 0, -29).Format(time.DateOnly)
	}
	return s
}

// days returns every day of the range, including those without turns, or the months of a long range.
func (s span) days(found groups) []page.UsageGroup {
	from, err := time.Parse(time.DateOnly, s.from)
	if err != nil {
		return nil // formatted above
	}
	var names []string
	sums := map[string]*usage.Amount{}
	for day := from; day.Format(time.DateOnly) <= s.to; day = day.AddDate(0, 0, 1) {
		name := day.Format("2 Jan")
		if s.name == "year" {
			name = day.Format("Jan 2006")
		}
		if sums[name] == nil {
			names, sums[name] = append(names, name), &usage.Amount{}
		}
		if g := found[day.Format(time.DateOnly)]; g != nil {
			sums[name].Add(g.Amount)
		}
	}
	out := make([]page.UsageGroup, len(names))
	for i, name := range names {
		out[i] = page.UsageGroup{Name: name, UsageSum: page.UsageSum(*sums[name])}
	}
	return out
}

// group is a sum with a name.
type group struct {
	name, href string
	usage.Amount
}

// groups are sums by key.
type groups map[string]*group

func (g groups) add(key, name, href string, a usage.Amount) {
	if g[key] == nil {
		g[key] = &group{}
	}
	g[key].name, g[key].href = name, href
	g[key].Add(a)
}

// sorted returns the groups, the most expensive first.
func (g groups) sorted() []page.UsageGroup {
	out := make([]page.UsageGroup, 0, len(g))
	for _, x := range g {
		out = append(out, page.UsageGroup{Name: x.name, Href: x.href, UsageSum: page.UsageSum(x.Amount)})
	}
	slices.SortFunc(out, func(a, b page.UsageGroup) int {
		return cmp.Or(cmp.Compare(b.Cost["USD"], a.Cost["USD"]), cmp.Compare(b.Tokens(), a.Tokens()),
			cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func nameOf(r usage.Row) string {
	if r.Person == "" {
		return "Automations and agents"
	}
	return cmp.Or(r.Name, r.Person)
}

// titles are the titles of the sessions that a person sees.
type titles map[ahp.URI]string

func (p *Pages) titles(who access.Principal) titles {
	out := titles{}
	for _, s := range p.host.Summaries(core.Caller{Principal: who}) {
		out[s.Resource] = site.SessionTitle(s.Title)
	}
	return out
}

func (t titles) of(session ahp.URI) (title, href string) {
	if title := t[session]; title != "" {
		return title, "/s/" + core.ShortID(session)
	}
	return "Deleted or unshared session", ""
}
