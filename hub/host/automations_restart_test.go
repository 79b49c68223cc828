package host

import (
	"context"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (l *life) automation() ahp.AutomationEntry {
	e, _ := l.host.Automations.Get(nightly)
	return e
}

func (l *life) run(id string) ahp.URI {
	l.t.Helper()
	res, err := l.host.Automations.Run(context.Background(), core.Caller{Principal: owner},
		ahp.RunAutomationParams{Channel: ahp.AutomationsURI, Automation: nightly, RequestID: id})
	l.must(err)
	return res.Resource
}

func (l *life) durable() {
	l.t.Helper()
	l.until("durable", func() bool { return l.hub.Stats().UnjournaledBytes == 0 })
}

func (l *life) status(i int) string {
	runs := l.automation().Runs
	if i >= len(runs) {
		return ""
	}
	return statusOfRun(runs[i].Lifecycle)
}

// The host is killed while one run waits for an approval and another for its turn. The first has
// failed with a reason, the second runs, and a repeated request returns the same run.
func TestCrashFailsRunsAtWork(t *testing.T) {
	dir := t.TempDir()
	one := newLife(t, dir, waiting(), core.Limits{})
	one.do(ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: nightly, Definition: daily("Nightly",
		byCron("0 3 * * *", ""))})
	first := one.run("one")
	one.until("it asks", func() bool {
		s, _ := one.host.Summary(one.automation().Runs[0].PrimarySession)
		return s.Status.Activity() == ahp.SessionStatusInputNeeded
	})
	second := one.run("two")
	before := one.automation()
	one.durable()
	one.end(false)

	two := newLife(t, dir, &fake{}, core.Limits{})
	two.until("the other ran", func() bool { return two.status(0) == "completed" })
	e := two.automation()
	if e.Definition.Title != "Nightly" || e.NextRunAt != before.NextRunAt || len(e.Runs) != 2 {
		t.Fatalf("after the crash the automation is %+v", e)
	}
	failed, ok := e.Runs[1].Lifecycle.Value.(*ahp.AutomationRunFailed)
	if !ok || failed.Error.ErrorType != "interrupted" || failed.StartedAt == "" || e.Runs[1].Resource != first {
		t.Errorf("the run that was cut off is %+v", e.Runs[1])
	}
	if got := two.run("one"); got != first {
		t.Errorf("the same request made %s, and was %s before", got, first)
	}
	if got := two.run("two"); got != second {
		t.Errorf("the same request made %s, and was %s before", got, second)
	}
	two.must(two.host.Prepare(context.Background(), core.Caller{Principal: owner}, first))
	s, ok := hub.StateOf[*ahp.AutomationRunState](two.hub, first)
	if !ok || statusOfRun(s.Lifecycle) != "failed" || len(s.Sessions) != 1 {
		t.Errorf("the run's own channel says %+v", s)
	}
	two.durable()
	two.end(true)

	three := newLife(t, dir, &fake{}, core.Limits{})
	if three.status(0) != "completed" || three.status(1) != "failed" || len(three.agent.prompts()) != 0 {
		t.Errorf("another start changed what had ended: %+v", three.automation().Runs)
	}
}

// Occurrences missed while the host was down lead to one run, or to none.
func TestOccurrenceMissedWhileHostWasDown(t *testing.T) {
	for policy, want := range map[ahp.AutomationMisfirePolicy]int{ahp.AutomationMisfirePolicyRunOnce: 1,
		ahp.AutomationMisfirePolicySkip: 0} {
		t.Run(string(policy), func(t *testing.T) {
			dir := t.TempDir()
			back := time.Now().Add(-49 * time.Hour)
			one := newLife(t, dir, &fake{}, core.Limits{}, func() time.Time { return back })
			one.do(ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: nightly,
				Definition: daily("Nightly", byCron("0 */2 * * *", policy))})
			due := one.automation().NextRunAt
			one.durable()
			one.end(false)

			two := newLife(t, dir, &fake{}, core.Limits{})
			two.until("looked at", func() bool { return two.automation().NextRunAt > core.Timestamp(time.Now()) })
			two.until("ended", func() bool { return want == 0 || two.status(0) == "completed" })
			e := two.automation()
			if len(e.Runs) != want {
				t.Fatalf("%d runs for what was missed", len(e.Runs))
			}
			if want == 1 {
				o := e.Runs[0].Origin.Value.(*ahp.AutomationTriggerRunOrigin)
				if o.CatchUp == nil || o.ScheduledFor != due {
					t.Errorf("it ran because of %+v", o)
				}
			}
		})
	}
}
