package automation

import (
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

const skip = ahp.AutomationMisfirePolicySkip

func every(id, expression string, policy ahp.AutomationMisfirePolicy) ahp.AutomationTrigger {
	return ahp.AutomationTrigger{Value: &ahp.AutomationScheduleTrigger{ID: id, MisfirePolicy: policy,
		Schedule: ahp.AutomationSchedule{Expression: expression, TimeZone: "UTC"}}}
}

func after(runs int64) ahp.AutomationDisableCondition {
	return ahp.AutomationDisableCondition{Value: &ahp.AutomationAfterRunsCondition{Max: runs}}
}

func until(date string) ahp.AutomationDisableCondition {
	return ahp.AutomationDisableCondition{Value: &ahp.AutomationAfterDateCondition{Date: date}}
}

func definition(triggers ...ahp.AutomationTrigger) ahp.AutomationDefinition {
	return ahp.AutomationDefinition{Title: "T", Message: ahp.Message{Text: "do it"}, Enabled: true, Triggers: triggers}
}

// Results of Due for an automation that is due at 09:00, by the current time and its policy for
// missed runs.
func TestDue(t *testing.T) {
	hourly, hourlySkip := every("h", "0 * * * *", ""), every("s", "0 * * * *", skip)
	for _, c := range []struct {
		name     string
		triggers []ahp.AutomationTrigger
		now      string
		busy     bool
		run      string // trigger and time
		catchUp  bool
		next     string
	}{
		{"not yet", []ahp.AutomationTrigger{hourly}, "2026-11-20T08:59:59Z", false, "", false,
			"2026-11-20T09:00:00.000Z"},
		{"on time", []ahp.AutomationTrigger{hourly}, "2026-11-20T09:00:00Z", false, "h 2026-11-20T09:00:00.000Z", false,
			"2026-11-20T10:00:00.000Z"},
		{"a little late", []ahp.AutomationTrigger{hourlySkip}, "2026-11-20T09:00:59Z", false,
			"s 2026-11-20T09:00:00.000Z", false, "2026-11-20T10:00:00.000Z"},
		{"once for many missed", []ahp.AutomationTrigger{hourly}, "2026-11-20T13:30:00Z", false,
			"h 2026-11-20T09:00:00.000Z", true, "2026-11-20T14:00:00.000Z"},
		{"missed and skipped", []ahp.AutomationTrigger{hourlySkip}, "2026-11-20T13:30:00Z", false, "", false,
			"2026-11-20T14:00:00.000Z"},
		{"skipped but for the last", []ahp.AutomationTrigger{hourlySkip}, "2026-11-20T13:00:20Z", false,
			"s 2026-11-20T13:00:00.000Z", false, "2026-11-20T14:00:00.000Z"},
		{"held while one goes on", []ahp.AutomationTrigger{hourly}, "2026-11-20T09:00:00Z", true, "", false,
			"2026-11-20T09:00:00.000Z"},
		{"skipped while one goes on", []ahp.AutomationTrigger{hourlySkip}, "2026-11-20T09:00:00Z", true, "", false,
			"2026-11-20T10:00:00.000Z"},
		{"two at once make one run", []ahp.AutomationTrigger{hourly, hourlySkip}, "2026-11-20T09:00:00Z", false,
			"h 2026-11-20T09:00:00.000Z", false, "2026-11-20T10:00:00.000Z"},
		{"the earlier of two", []ahp.AutomationTrigger{every("late", "30 9 * * *", ""), hourly}, "2026-11-20T09:45:00Z",
			false, "h 2026-11-20T09:00:00.000Z", true, "2026-11-20T10:00:00.000Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := ahp.AutomationEntry{Definition: definition(c.triggers...), NextRunAt: "2026-11-20T09:00:00.000Z"}
			e, run := Due(e, at(t, c.now), c.busy)
			got := ""
			if run != nil {
				got = run.TriggerID + " " + run.ScheduledFor
				if (run.CatchUp != nil) != c.catchUp {
					t.Errorf("made up for: %v", run.CatchUp)
				}
			}
			if got != c.run || e.NextRunAt != c.next {
				t.Errorf("runs %q, then at %s; want %q, then at %s", got, e.NextRunAt, c.run, c.next)
			}
		})
	}
}

// A held occurrence runs after the previous run, only once.
func TestHeldIsMadeUpForOnce(t *testing.T) {
	e := ahp.AutomationEntry{Definition: definition(every("h", "0 * * * *", "")), NextRunAt: "2026-11-20T09:00:00.000Z"}
	for _, now := range []string{"2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"} {
		var run *ahp.AutomationTriggerRunOrigin
		if e, run = Due(e, at(t, now), true); run != nil {
			t.Fatalf("ran at %s beside another run", now)
		}
	}
	e, run := Due(e, at(t, "2026-11-20T11:20:00Z"), false)
	if run == nil || run.CatchUp == nil || run.ScheduledFor != "2026-11-20T09:00:00.000Z" {
		t.Fatalf("made up for by %+v", run)
	}
	if _, run = Due(e, at(t, "2026-11-20T11:20:01Z"), false); run != nil || e.NextRunAt != "2026-11-20T12:00:00.000Z" {
		t.Errorf("made up for twice: %+v, next %s", run, e.NextRunAt)
	}
}

func TestAllowance(t *testing.T) {
	now := at(t, "2026-11-20T08:00:00Z")
	d := definition(every("h", "0 * * * *", ""))
	d.DisableConditions = []ahp.AutomationDisableCondition{after(2)}
	e := Set(ahp.AutomationEntry{}, d, now)
	if e.RunCount == nil || *e.RunCount != 0 || e.NextRunAt != "2026-11-20T09:00:00.000Z" {
		t.Fatalf("a new one: %+v", e)
	}
	run := func() bool {
		now = parse(e.NextRunAt)
		var o *ahp.AutomationTriggerRunOrigin
		e, o = Due(e, now, false)
		return o != nil
	}
	if !run() || *e.RunCount != 1 || !e.Definition.Enabled {
		t.Fatalf("after the first run: %+v", e)
	}
	// Raising the limit keeps the count, as does any change while it is enabled.
	raised := e.Definition
	raised.DisableConditions = []ahp.AutomationDisableCondition{until("2030-01-01T00:00:00Z"), after(3)}
	if e = Set(e, raised, now); *e.RunCount != 1 {
		t.Errorf("raising the limit forgot what was spent: %d", *e.RunCount)
	}
	second, third := run(), run()
	if !second || !third || e.Definition.Enabled || *e.RunCount != 3 || e.NextRunAt != "" {
		t.Fatalf("after the last run: %+v", e)
	}
	if len(e.Definition.DisableConditions) != 2 {
		t.Error("the conditions went when they were met")
	}
	off := e.Definition
	off.DisableConditions = []ahp.AutomationDisableCondition{}
	if e := Set(e, off, now); e.Definition.Enabled || e.RunCount != nil {
		t.Errorf("without conditions it is %+v", e)
	}
	on := e.Definition
	on.Enabled = true
	if e = Set(e, on, now); *e.RunCount != 0 || e.NextRunAt == "" || !e.Definition.Enabled {
		t.Errorf("switched on again: %+v", e)
	}
}

func TestAfterDate(t *testing.T) {
	d := definition(every("h", "0 * * * *", ""))
	d.DisableConditions = []ahp.AutomationDisableCondition{until("2026-11-20T10:30:00Z")}
	e := Set(ahp.AutomationEntry{}, d, at(t, "2026-11-20T09:30:00Z"))
	if got := Wake(e); !got.Equal(at(t, "2026-11-20T10:00:00Z")) {
		t.Errorf("looked at again at %s", got)
	}
	e, run := Due(e, at(t, "2026-11-20T10:00:00Z"), false)
	if run == nil || e.RunCount != nil {
		t.Errorf("before the date: %+v %+v", run, e)
	}
	if got := Wake(e); !got.Equal(at(t, "2026-11-20T10:30:00Z")) {
		t.Errorf("looked at again at %s", got)
	}
	e, run = Due(e, at(t, "2026-11-20T10:30:00Z"), false)
	if run != nil || e.Definition.Enabled || !Wake(e).IsZero() {
		t.Errorf("past the date: %+v %+v", run, e)
	}
	d.Enabled = true
	if e := Set(e, d, at(t, "2026-11-21T09:30:00Z")); e.Definition.Enabled {
		t.Error("switched on although its date is past")
	}
}

func TestSetKeepsItsPlace(t *testing.T) {
	d := definition(every("h", "0 * * * *", ""))
	e := Set(ahp.AutomationEntry{}, d, at(t, "2026-11-20T08:30:00Z"))
	renamed := e.Definition
	renamed.Title = "Other"
	if got := Set(e, renamed, at(t, "2026-11-20T09:10:00Z")); got.NextRunAt != "2026-11-20T09:00:00.000Z" {
		t.Errorf("a new title moved what is due to %s", got.NextRunAt)
	}
	other := e.Definition
	other.Triggers = []ahp.AutomationTrigger{every("h", "30 * * * *", "")}
	if got := Set(e, other, at(t, "2026-11-20T09:10:00Z")); got.NextRunAt != "2026-11-20T09:30:00.000Z" {
		t.Errorf("another schedule comes at %s", got.NextRunAt)
	}
	off := e.Definition
	off.Enabled = false
	if got := Set(e, off, at(t, "2026-11-20T08:40:00Z")); got.NextRunAt != "" || !Wake(got).IsZero() {
		t.Errorf("switched off it comes at %q", got.NextRunAt)
	}
	manual := Set(ahp.AutomationEntry{}, definition(), time.Now())
	if manual.NextRunAt != "" || !Wake(manual).IsZero() {
		t.Errorf("without triggers it comes at %q", manual.NextRunAt)
	}
}
