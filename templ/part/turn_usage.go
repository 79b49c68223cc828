package part

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

func usageLine(u *ahp.UsageInfo) string {
	var out []string
	if u.Model != "" {
		out = append(out, u.Model)
	}
	if u.InputTokens != nil {
		out = append(out, Count(int(*u.InputTokens))+" in")
	}
	if u.OutputTokens != nil {
		out = append(out, Count(int(*u.OutputTokens))+" out")
	}
	var says struct {
		Cost        float64 `json:"turnCost"`
		Currency    string  `json:"currency"`
		ContextUsed int64   `json:"contextUsed"`
		ContextSize int64   `json:"contextSize"`
	}
	if json.Unmarshal(u.Meta["acp"], &says) == nil {
		if says.Cost > 0 && len(says.Currency) <= 8 {
			out = append(out, Money(says.Cost, says.Currency))
		}
		if used, size := says.ContextUsed, says.ContextSize; used > 0 && size > 0 {
			out = append(out, strconv.FormatInt(min(100, used*100/size), 10)+"% of context")
		}
	}
	return strings.Join(out, " · ")
}

// UsageWords sums the usage of a chat's turns: tokens, and the cost reported by the agent.
func UsageWords(turns []Turn) string {
	var in, out int64
	cost := ""
	for i := range turns {
		if u := turns[i].Usage; u != nil {
			in, out = in+value(u.InputTokens), out+value(u.OutputTokens)
			cost = firstOf(costOf(u), cost) // the agent reports the total of the session so far
		}
	}
	var words []string
	if in+out > 0 {
		words = append(words, Count(int(in))+" tokens in", Count(int(out))+" out")
	}
	if cost != "" {
		words = append(words, cost)
	}
	return strings.Join(words, " · ")
}

// costOf returns the cost of the session at the end of a turn, as reported by the agent; "" if it did not.
func costOf(u *ahp.UsageInfo) string {
	var says struct {
		Cost     float64 `json:"cost"`
		Currency string  `json:"currency"`
	}
	if json.Unmarshal(u.Meta["acp"], &says) != nil || says.Cost <= 0 || len(says.Currency) > 8 {
		return ""
	}
	return Money(says.Cost, says.Currency)
}

// Money formats an amount of a currency; "" is USD. Less than half a cent is shown as "<$0.01".
func Money(amount float64, currency string) string {
	text := fmt.Sprintf("%.2f", amount)
	if whole, cents, _ := strings.Cut(text, "."); len(whole) > 3 {
		text = Count(int(amount)) + "." + cents
	}
	sign := ""
	if amount > 0 && amount < 0.005 {
		sign, text = "<", "0.01"
	}
	if currency == "" || currency == "USD" {
		return sign + "$" + text
	}
	return sign + text + " " + currency
}
