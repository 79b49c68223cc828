package automation

import (
	"reflect"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// OnTime is how late an occurrence may be found and still count as on time. Later ones were missed: the host was
// down or asleep, or a run before it was still going on.
const OnTime = time.Minute

// Set is an entry with another definition: when it runs next, and what is left of its allowance. A new entry has no
// definition before.
func Set(e ahp.AutomationEntry, d ahp.AutomationDefinition, now time.Time) ahp.AutomationEntry {
	before := e.Definition
	began := d.Enabled && !before.Enabled
	e.Definition = d
	e.RunCount = count(e.RunCount, before, d, began)
	e = Disabled(e, now)
	switch {
	case !e.Definition.Enabled:
		e.NextRunAt = ""
	case began || !reflect.DeepEqual(before.Triggers, d.Triggers):
		e.NextRunAt = stamp(next(d.Triggers, now))
	}
	return e
}

// count returns the used part of the allowance of scheduled runs: it restarts when the automation
// is switched on and when it gets
// such a condition; nothing without one.
func count(have *int64, before, after ahp.AutomationDefinition, began bool) *int64 {
	if AfterRuns(after) == 0 {
		return nil
	}
	if have == nil || began || AfterRuns(before) == 0 {
		return ahp.Ptr(int64(0))
	}
	return have
}

// AfterRuns is after how many scheduled runs an automation stops; 0 for never.
func AfterRuns(d ahp.AutomationDefinition) int64 {
	for _, c := range d.DisableConditions {
		if v, ok := c.Value.(*ahp.AutomationAfterRunsCondition); ok {
			return v.Max
		}
	}
	return 0
}

// AfterDate is when an automation stops; the zero time for never.
func AfterDate(d ahp.AutomationDefinition) time.Time {
	for _, c := range d.DisableConditions {
		if v, ok := c.Value.(*ahp.AutomationAfterDateCondition); ok {
			at, _ := time.Parse(time.RFC3339, v.Date) // checked when it was saved
			return at
		}
	}
	return time.Time{}
}

// Disabled switches an entry off once one of its conditions is met.
func Disabled(e ahp.AutomationEntry, now time.Time) ahp.AutomationEntry {
	end, most := AfterDate(e.Definition), AfterRuns(e.Definition)
	if !end.IsZero() && !now.Before(end) || most > 0 && e.RunCount != nil && *e.RunCount >= most {
		e.Definition.Enabled, e.NextRunAt = false, ""
	}
	return e
}

// Due looks at an entry at a moment: what to run now, if anything, and the entry with the time it is to be looked at
// again. While busy nothing runs: what comes meanwhile is missed, and made up for once or not, as its trigger says.
func Due(e ahp.AutomationEntry, now time.Time, busy bool) (ahp.AutomationEntry, *ahp.AutomationTriggerRunOrigin) {
	e = Disabled(e, now)
	from := parse(e.NextRunAt)
	if !e.Definition.Enabled || from.IsZero() || from.After(now) {
		return e, nil
	}
	var first *ahp.AutomationTriggerRunOrigin
	var at time.Time
	for _, t := range e.Definition.Triggers {
		s, ok := t.Value.(*ahp.AutomationScheduleTrigger)
		if !ok {
			continue
		}
		came := waits(s, from, now, busy)
		if !came.IsZero() && (first == nil || came.Before(at)) {
			at, first = came, &ahp.AutomationTriggerRunOrigin{TriggerID: s.ID, ScheduledFor: stamp(came)}
		}
	}
	switch {
	case first == nil:
		e.NextRunAt = stamp(next(e.Definition.Triggers, now))
		return e, nil
	case busy:
		e.NextRunAt = stamp(at) // made up for when the run that goes on has ended
		return e, nil
	}
	if now.Sub(at) > OnTime {
		first.CatchUp = ahp.Ptr(true)
	}
	return admitted(e, now), first
}

// admitted is an entry one of whose occurrences runs: all that was due by now is dealt with.
func admitted(e ahp.AutomationEntry, now time.Time) ahp.AutomationEntry {
	e.NextRunAt = stamp(next(e.Definition.Triggers, now))
	if AfterRuns(e.Definition) > 0 {
		spent := int64(1)
		if e.RunCount != nil {
			spent += *e.RunCount
		}
		e.RunCount = &spent
	}
	return Disabled(e, now)
}

// waits is the occurrence of a trigger that is to run: the earliest since a moment, or the zero time. With the policy
// skip only one that is on time counts.
func waits(t *ahp.AutomationScheduleTrigger, from, now time.Time, busy bool) time.Time {
	s, err := Parse(t.Schedule)
	if err != nil {
		return time.Time{} // it was checked when it was saved
	}
	if t.MisfirePolicy == ahp.AutomationMisfirePolicySkip {
		if busy {
			return time.Time{}
		}
		if recent := now.Add(-OnTime); recent.After(from) {
			from = recent
		}
	}
	at := s.Next(from.Add(-time.Nanosecond))
	if at.After(now) {
		return time.Time{}
	}
	return at
}

// next is the earliest occurrence of any trigger after a moment.
func next(triggers []ahp.AutomationTrigger, now time.Time) time.Time {
	var list []time.Time
	for _, t := range triggers {
		if s, ok := t.Value.(*ahp.AutomationScheduleTrigger); ok {
			if parsed, err := Parse(s.Schedule); err == nil {
				list = append(list, parsed.Next(now))
			}
		}
	}
	return earliest(list...)
}

// Wake is when an entry is to be looked at next by itself; the zero time for never.
func Wake(e ahp.AutomationEntry) time.Time {
	if !e.Definition.Enabled {
		return time.Time{}
	}
	return earliest(parse(e.NextRunAt), AfterDate(e.Definition))
}

func parse(s string) time.Time {
	at, _ := time.Parse(time.RFC3339, s) // "" is no time
	return at
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
