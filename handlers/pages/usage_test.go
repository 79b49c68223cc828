package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/usage"
)

var ben = access.Principal{ID: "person:ben", Name: "Ben", Role: access.RoleMember}

// counted is a ledger with rows of Ana and Ben.
type counted struct{ budget usage.Budget }

func (c *counted) Rows(from, to, person string) (out []usage.Row) {
	today := time.Now().UTC().Format(time.DateOnly)
	for _, r := range []usage.Row{
		{Day: today, Person: ana.ID, Name: "Ana", Session: "ahp-session:/1", Agent: "script",
			Amount: usage.Amount{Turns: 3, Input: 1234567, Output: 89, Cost: map[string]float64{"USD": 12.5}}},
		{Day: today, Person: ben.ID, Name: "=HYPERLINK(1)", Session: "ahp-session:/2", Agent: "script",
			Amount: usage.Amount{Turns: 2, Input: 700, Output: 70, Cost: map[string]float64{"USD": 3.25}}},
	} {
		if (person == "" || r.Person == person) && from <= r.Day && r.Day <= to {
			out = append(out, r)
		}
	}
	return out
}

func (c *counted) Budget() usage.Budget { return c.budget }

func (c *counted) SetBudget(_ context.Context, b usage.Budget) error {
	if b.Day.Cost > 1e6 {
		return usage.ErrBudget
	}
	c.budget = b
	return nil
}

// The owner sees everyone's usage, a member only their own.
func TestMemberSeesOwnUsageAlone(t *testing.T) {
	ledger := &counted{budget: usage.Budget{Day: usage.Limit{Cost: 5}}}
	s := open(t, func(d *pages.Deps) { d.Usage = ledger })
	for _, path := range []string{"/usage", "/usage?range=today", "/usage?range=year", "/usage?range=%3Cb%3E"} {
		if p := s.get(path); !strings.Contains(p, "$15.75") || !strings.Contains(p, "1,235,267") {
			t.Errorf("%s does not show the owner what everyone used:\n%s", path, p)
		}
	}
	s.who = ben
	for _, path := range []string{"/usage", "/usage.csv"} {
		p := s.get(path)
		if strings.Contains(p, ">Ana<") || strings.Contains(p, "$12.50") || strings.Contains(p, "1,234,567") ||
			strings.Contains(p, "1234567") || strings.Contains(p, ",owner,") {
			t.Errorf("%s shows a member what another used:\n%s", path, p)
		}
		if !strings.Contains(p, "3.25") {
			t.Errorf("%s does not show a member their own:\n%s", path, p)
		}
	}
	if p := s.get("/usage"); !strings.Contains(p, "$3.25 of $5.00") || strings.Contains(p, "Save budgets") {
		t.Errorf("a member's budget:\n%s", p)
	}
	if access.MayVisit(ben, "POST /usage/budgets") == nil || access.MayVisit(ben, "GET /usage") != nil {
		t.Error("a member may set budgets, or may not see their own usage")
	}
	guest := access.Principal{ID: "link:1", Role: access.RoleViewer, Session: "ahp-session:/1"}
	if access.MayVisit(guest, "GET /usage") == nil || access.MayVisit(guest, "GET /usage.csv") == nil {
		t.Error("a guest sees usage")
	}
}

// Other people choose names: a spreadsheet must not evaluate them.
func TestUsageExportHasNoFormulas(t *testing.T) {
	s := open(t, func(d *pages.Deps) { d.Usage = &counted{} })
	got := s.get("/usage.csv")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "day,person,name,session,") ||
		!strings.Contains(lines[2], ",'=HYPERLINK(1),") || !strings.HasSuffix(lines[1], ",3,1234567,89,0,12.500000,USD") {
		t.Errorf("the export is\n%s", got)
	}
}

func TestOwnerSetsBudgets(t *testing.T) {
	ledger := &counted{}
	s := open(t, func(d *pages.Deps) { d.Usage = ledger })
	s.post("/usage/budgets", url.Values{"day-cost": {"$1,000.50"}, "month-tokens": {"2,000,000"}, "session-cost": {" "}})
	want := usage.Budget{Day: usage.Limit{Cost: 1000.5}, Month: usage.Limit{Tokens: 2_000_000}}
	if ledger.budget != want {
		t.Errorf("the budgets are %+v", ledger.budget)
	}
	for _, bad := range []string{"0", "-1", "x", "NaN", "Inf", "1e9"} {
		form := url.Values{"day-cost": {bad}}
		res, err := s.web.PostForm(s.url+"/usage/budgets", form)
		if p := s.body("/usage/budgets", res, err, http.StatusUnprocessableEntity); !strings.Contains(p,
			"Leave a field empty for no limit") {
			t.Errorf("%q is answered\n%s", bad, p)
		}
	}
	if ledger.budget != want {
		t.Errorf("a refused form changed the budgets to %+v", ledger.budget)
	}
}

// The usage that an agent reports is on the page, and stops the next turn once the budget is used up.
func TestUsedUpBudgetStopsTurn(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	s.say(chat, "plan")
	s.until("/usage", "1,200")
	s.until(chat, "340 out")
	if err := s.usage.SetBudget(t.Context(), usage.Budget{Day: usage.Limit{Tokens: 1500}}); err != nil {
		t.Fatal(err)
	}
	send := func() (int, string) {
		res, err := s.web.PostForm(s.url+chat+"/message", url.Values{"text": {"say more"}})
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, s.body(chat, res, nil, res.StatusCode)
	}
	if code, p := send(); code < 400 ||
		!strings.Contains(p, "1,540 of 1,500 tokens") || !strings.Contains(p, "Raise it on the Usage page") {
		t.Errorf("the next message is answered %d\n%s", code, p)
	}
	if err := s.usage.SetBudget(t.Context(), usage.Budget{}); err != nil {
		t.Fatal(err)
	}
	if code, p := send(); code != http.StatusSeeOther {
		t.Errorf("with a raised budget it is answered %d\n%s", code, p)
	}
}
