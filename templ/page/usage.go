package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Usage is the usage in a range of days, as the viewer may see it.
type Usage struct {
	Frame  part.Frame
	Owner  bool // sees everyone's usage, and sets the budgets
	Range  string
	Export string
	Error  string

	Total    UsageSum
	Days     []UsageGroup // in order, without gaps
	People   []UsageGroup
	Sessions []UsageGroup

	MoreSessions int // not shown

	Budget UsageBudget
	Spent  []UsageSpent
}

// UsageSum is a sum of usage: tokens, and cost by currency.
type UsageSum struct {
	Turns, Input, Output, CacheRead int64

	Cost map[string]float64
}

// Tokens returns input plus output tokens.
func (s UsageSum) Tokens() int64 { return s.Input + s.Output }

// UsageLimit limits an amount; zero fields are no limit.
type UsageLimit struct {
	Cost   float64 // in USD
	Tokens int64
}

// UsageBudget limits the usage of new turns.
type UsageBudget struct{ Day, Month, Session UsageLimit }

// UsageGroup is the sum of a person, session or day.
type UsageGroup struct {
	Name, Href string
	UsageSum
}

// UsageSpent is the used share of a budget.
type UsageSpent struct {
	What  string
	Limit UsageLimit
	Used  UsageSum
}

// usageRanges are the ranges offered by the page.
var usageRanges = [][2]string{{"today", "Today"}, {"7", "7 days"}, {"30", "30 days"}, {"month", "This month"},
	{"year", "400 days"}}

// costWords formats the cost in each currency; "–" if agents reported none.
func costWords(a UsageSum) string {
	var out []string
	for _, currency := range slices.Sorted(maps.Keys(a.Cost)) {
		out = append(out, part.Money(a.Cost[currency], currency))
	}
	if len(out) == 0 {
		return "–"
	}
	return strings.Join(out, " + ")
}

func tokenWords(n int64) string { return part.Count(int(n)) }

// words describes how much of a budget is used.
func (s UsageSpent) words() []string {
	var out []string
	if s.Limit.Cost > 0 {
		out = append(out, part.Money(s.Used.Cost["USD"], "USD")+" of "+part.Money(s.Limit.Cost, "USD"))
	}
	if s.Limit.Tokens > 0 {
		out = append(out, tokenWords(s.Used.Tokens())+" of "+tokenWords(s.Limit.Tokens)+" tokens")
	}
	return out
}

// share returns the used share of the budget, from 0 to 1.
func (s UsageSpent) share() float64 {
	var out float64
	if s.Limit.Cost > 0 {
		out = s.Used.Cost["USD"] / s.Limit.Cost
	}
	if s.Limit.Tokens > 0 {
		out = max(out, float64(s.Used.Tokens())/float64(s.Limit.Tokens))
	}
	return min(1, out)
}

func (s UsageSpent) value() string { return strconv.FormatFloat(s.share(), 'f', 3, 64) }

// barWidth is the space per bar in the chart's units; its height is 100.
const barWidth = 10

// usageBar is a bar of the chart.
type usageBar struct{ X, Y, Height, Title string }

// byCost reports whether the chart shows cost instead of tokens.
func (m *Usage) byCost() bool { return m.Total.Cost["USD"] > 0 }

func (m *Usage) measure(g UsageGroup) float64 {
	if m.byCost() {
		return g.Cost["USD"]
	}
	return float64(g.Tokens())
}

// bars returns a bar for each day, scaled to the highest.
func (m *Usage) bars() []usageBar {
	most := 0.0
	for _, d := range m.Days {
		most = max(most, m.measure(d))
	}
	var out []usageBar
	for i, d := range m.Days {
		height := 0.0
		if n := m.measure(d); n > 0 {
			height = max(2, math.Round(n/most*1000)/10)
		}
		out = append(out, usageBar{X: strconv.Itoa(i*barWidth + 1), Y: decimal(100 - height), Height: decimal(height),
			Title: d.Name + ": " + costWords(d.UsageSum) + ", " + tokenWords(d.Tokens()) + " tokens, " + turnWords(d.Turns)})
	}
	return out
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (m *Usage) viewBox() string { return fmt.Sprintf("0 0 %d 100", len(m.Days)*barWidth) }

// chartLabel describes the chart.
func (m *Usage) chartLabel() string {
	what := "Tokens"
	if m.byCost() {
		what = "Cost"
	}
	return what + " by day"
}

// peak describes the highest day.
func (m *Usage) peak() string {
	best := UsageGroup{}
	for _, d := range m.Days {
		if m.measure(d) > m.measure(best) {
			best = d
		}
	}
	if best.Name == "" {
		return ""
	}
	if m.byCost() {
		return "Highest: " + costWords(best.UsageSum) + " on " + best.Name
	}
	return "Highest: " + tokenWords(best.Tokens()) + " tokens on " + best.Name
}

func turnWords(n int64) string {
	if n == 1 {
		return "1 turn"
	}
	return part.Count(int(n)) + " turns"
}

// costField and tokenField return the values of a budget's fields.
func costField(l UsageLimit) string {
	if l.Cost == 0 {
		return ""
	}
	return strconv.FormatFloat(l.Cost, 'f', -1, 64)
}

func tokenField(l UsageLimit) string {
	if l.Tokens == 0 {
		return ""
	}
	return strconv.FormatInt(l.Tokens, 10)
}

type budgetRow struct {
	Field, Name string
	Limit       UsageLimit
}

func (m *Usage) budgets() []budgetRow {
	return []budgetRow{{"day", "Each person, per day", m.Budget.Day}, {"month", "Each person, per month", m.Budget.Month},
		{"session", "Each session, in total", m.Budget.Session}}
}

// BudgetWords describes the budgets in one line, for example for the audit.
func BudgetWords(b UsageBudget) string {
	var out []string
	for _, x := range []struct {
		name  string
		limit UsageLimit
	}{{"day", b.Day}, {"month", b.Month}, {"session", b.Session}} {
		if x.limit.Cost > 0 {
			out = append(out, x.name+" "+part.Money(x.limit.Cost, "USD"))
		}
		if x.limit.Tokens > 0 {
			out = append(out, x.name+" "+tokenWords(x.limit.Tokens)+" tokens")
		}
	}
	if len(out) == 0 {
		return "no limits"
	}
	return strings.Join(out, ", ")
}
