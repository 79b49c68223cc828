package usage

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Amount is the usage of turns.
type Amount struct {
	Turns     int64 `json:"turns,omitempty"`
	Input     int64 `json:"input,omitempty"` // tokens
	Output    int64 `json:"output,omitempty"`
	CacheRead int64 `json:"cacheRead,omitempty"`

	Cost map[string]float64 `json:"cost,omitempty"` // by currency
}

// Tokens returns the sum of input and output tokens.
func (a Amount) Tokens() int64 { return a.Input + a.Output }

// Add adds b to a; it may change a's map.
func (a *Amount) Add(b Amount) {
	a.Turns, a.Input, a.Output = a.Turns+b.Turns, a.Input+b.Input, a.Output+b.Output
	a.CacheRead += b.CacheRead
	if len(b.Cost) > 0 && a.Cost == nil {
		a.Cost = map[string]float64{}
	}
	for currency, cost := range b.Cost {
		a.Cost[currency] += cost
	}
}

func (a Amount) clone() Amount {
	a.Cost = maps.Clone(a.Cost)
	return a
}

// since returns the increase of a run's amount over old: agents report totals of a run.
func (a Amount) since(old Amount) Amount {
	out := Amount{Input: max(0, a.Input-old.Input), Output: max(0, a.Output-old.Output),
		CacheRead: max(0, a.CacheRead-old.CacheRead)}
	for currency, cost := range a.Cost {
		if more := cost - old.Cost[currency]; more > 0 {
			out.Cost = map[string]float64{currency: more}
		}
	}
	return out
}

func (a Amount) isZero() bool {
	return a.Turns == 0 && a.Tokens() == 0 && a.CacheRead == 0 && len(a.Cost) == 0
}

const (
	mostTokens   = 1 << 40 // of one turn; more is an agent's error
	mostCost     = 1e6
	mostCurrency = 8 // bytes
)

// amountOf returns the usage that an agent reports for a turn. Its numbers are not trusted.
func amountOf(u ahp.UsageInfo) Amount {
	a := Amount{Input: tokens(u.InputTokens), Output: tokens(u.OutputTokens), CacheRead: tokens(u.CacheReadTokens)}
	var says struct {
		Cost     float64 `json:"turnCost"`
		Currency string  `json:"currency"`
	}
	if json.Unmarshal(u.Meta["acp"], &says) == nil && says.Cost > 0 && says.Cost <= mostCost && !math.IsNaN(says.Cost) {
		a.Cost = map[string]float64{currencyOf(says.Currency): says.Cost}
	}
	return a
}

// currencyOf returns a currency code; USD for an invalid one.
func currencyOf(code string) string {
	if code == "" || len(code) > mostCurrency {
		return "USD"
	}
	for _, r := range code {
		if r < 'A' || r > 'Z' {
			return "USD"
		}
	}
	return code
}

func tokens(n *int64) int64 {
	if n == nil {
		return 0
	}
	return min(max(0, *n), mostTokens)
}
