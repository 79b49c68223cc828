package main

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/usage"
)

// openUsage opens the usage ledger, and connects it to the metrics.
func (a *app) openUsage(ctx context.Context) (*usage.Ledger, error) {
	return usage.Open(ctx, usage.Config{Store: a.docs, Owner: a.owner.ID,
		Sender: func(m ahp.Message) (person, name string) {
			st, _ := core.ReadStamp(m.Meta)
			return st.By.ID, st.By.Name
		},
		Count: func(agent string, used usage.Amount) {
			a.telemetry.Tokens(agent, "input", used.Input)
			a.telemetry.Tokens(agent, "output", used.Output)
			a.telemetry.Tokens(agent, "cache_read", used.CacheRead)
			for currency, cost := range used.Cost {
				a.telemetry.Cost(agent, currency, cost)
			}
		}})
}
