package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	budgetBucket = "usage-budget"
	budgetKey    = "all"
)

// Limit limits an amount; zero means no limit.
type Limit struct {
	Cost   float64 `json:"cost,omitempty"` // in USD
	Tokens int64   `json:"tokens,omitempty"`
}

// Budget limits the usage of new turns, per person and per session.
type Budget struct {
	Day     Limit `json:"day,omitzero"`     // of a person
	Month   Limit `json:"month,omitzero"`   // of a person
	Session Limit `json:"session,omitzero"` // of everyone together
}

// ErrBudget refuses an invalid budget.
var ErrBudget = errors.New("a budget is a number from 0.01 to 1,000,000 USD, or up to 1,000,000,000,000 tokens. " +
	"Leave a field empty for no limit")

func (l Limit) isValid() bool {
	return (l.Cost == 0 || l.Cost >= 0.01 && l.Cost <= mostCost) && l.Tokens >= 0 && l.Tokens <= 1e12
}

func (l *Ledger) readBudget(ctx context.Context) error {
	raw, found, err := l.cfg.Store.Get(ctx, budgetBucket, budgetKey)
	if err != nil || !found {
		return err
	}
	return json.Unmarshal(raw, &l.budget)
}

// Budget returns the limits.
func (l *Ledger) Budget() Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget
}

// SetBudget changes the limits once that is durable.
func (l *Ledger) SetBudget(ctx context.Context, b Budget) error {
	if !b.Day.isValid() || !b.Month.isValid() || !b.Session.isValid() {
		return ErrBudget
	}
	raw, err := json.Marshal(b)
	if err == nil && l.cfg.Store != nil {
		err = l.cfg.Store.Put(ctx, budgetBucket, budgetKey, raw)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget = b
	return nil
}

// Check returns which budget stops a new turn of a person in a session, and who may raise it; ""
// for none. Turns without a person only count for their session.
func (l *Ledger) Check(person string, session ahp.URI) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	day := l.today()
	for _, b := range []struct {
		limit     Limit
		key, what string
	}{
		{l.budget.Day, dayKey(day, person), "Your budget for today"},
		{l.budget.Month, monthKey(day, person), "Your budget for this month"},
		{l.budget.Session, sessionKey(session), "The budget of this session"},
	} {
		used := l.sums[b.key]
		if used == nil || person == "" && b.key != sessionKey(session) {
			continue
		}
		if how := b.limit.reached(*used); how != "" {
			return b.what + " is used up (" + how + "). " + l.whoRaises(person)
		}
	}
	return ""
}

// reached describes a reached limit; "" if it is not reached.
func (b Limit) reached(used Amount) string {
	switch cost := used.Cost["USD"]; {
	case b.Cost > 0 && cost >= b.Cost:
		return fmt.Sprintf("$%.2f of $%.2f", cost, b.Cost)
	case b.Tokens > 0 && used.Tokens() >= b.Tokens:
		return fmt.Sprintf("%s of %s tokens", grouped(used.Tokens()), grouped(b.Tokens))
	}
	return ""
}

func (l *Ledger) whoRaises(person string) string {
	if person == l.cfg.Owner {
		return "Raise it on the Usage page"
	}
	return "Ask the owner to raise it on the Usage page"
}

// grouped formats a number as 5,000.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}
