package host

import (
	"slices"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

const nightly ahp.URI = "ahp-automation:/nightly"

func daily(title string, triggers ...ahp.AutomationTrigger) ahp.AutomationDefinition {
	return ahp.AutomationDefinition{Title: title, Enabled: true, Triggers: triggers,
		Message: ahp.Message{Text: "look at what changed", Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAutomation}}}
}

func byCron(expression string, policy ahp.AutomationMisfirePolicy) ahp.AutomationTrigger {
	return ahp.AutomationTrigger{Value: &ahp.AutomationScheduleTrigger{ID: "clock", MisfirePolicy: policy,
		Schedule: ahp.AutomationSchedule{Expression: expression, TimeZone: "UTC"}}}
}

// automate creates an automation as the owner's client.
func (w *world) automate(d ahp.AutomationDefinition) *client {
	w.t.Helper()
	c := w.connect(owner, "ana-1")
	c.subscribe(ahp.AutomationsURI)
	c.do(ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: nightly, Definition: d})
	return c
}

func (w *world) automation() ahp.AutomationEntry {
	w.t.Helper()
	e, ok := w.host.Automations.Get(nightly)
	if !ok {
		w.t.Fatal("there is no automation")
	}
	return e
}

// statuses returns the statuses of the automation's runs, newest first.
func (w *world) statuses() (list []string) {
	w.t.Helper()
	for _, r := range w.automation().Runs {
		list = append(list, statusOfRun(r.Lifecycle))
	}
	return list
}

func statusOfRun(l ahp.AutomationRunLifecycle) string {
	switch l.Value.(type) {
	case *ahp.AutomationRunPending:
		return "pending"
	case *ahp.AutomationRunRunning:
		return "running"
	case *ahp.AutomationRunCompleted:
		return "completed"
	case *ahp.AutomationRunFailed:
		return "failed"
	case *ahp.AutomationRunCancelled:
		return "cancelled"
	}
	return "?"
}

func (w *world) runs(want ...string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.statuses(); !slices.Equal(got, want) {
		w.t.Errorf("the runs are %v, want %v", got, want)
	}
}

func (c *client) runNow(id string) ahp.URI {
	c.w.t.Helper()
	res, err := c.w.host.Automations.Run(c.w.t.Context(), c.caller, ahp.RunAutomationParams{Channel: ahp.AutomationsURI,
		Automation: nightly, RequestID: id})
	c.w.must(err)
	return res.Resource
}

// wait advances the time.
func wait(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}
