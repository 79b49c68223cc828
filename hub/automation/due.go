package automation

import (
	"reflect"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// OnTime is how late an occurrence still counts as on time. Later ones were missed: the host was
// down or asleep, or an earlier run had not ended.
const OnTime = time.Minute

// Set returns an entry with a new definition, its next run, and its run count. A new entry has no
// previous definition.
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

// count returns the number of scheduled runs used: it restarts when the automation is enabled and
// when a limit is set; nil without a limit.
func count(have *int64, before, after ahp.AutomationDefinition, began bool) *int64 {
	if AfterRuns(after) == 0 {
		return nil
	}
	if have == nil || began || AfterRuns(before) == 0 {
		return ahp.Ptr(int64(0))
	}
	return have
}

// AfterRuns returns the number of scheduled runs after which an automation stops; 0 for never.
func AfterRuns(d ahp.AutomationDefinition) int64 {
	for _, c := range d.DisableConditions {
		if v, ok := c.Value.(*ahp.AutomationAfterRunsCondition); ok {
			return v.Max
		}
	}
	return 0
}

// AfterDate returns when an automation stops; the zero time for never.
func AfterDate(d ahp.AutomationDefinition) time.Time {
	for _, c := range d.DisableConditions {
		if v, ok := c.Value.(*ahp.AutomationAfterDateCondition); ok {
			at, _ := time.Parse(time.RFC3339, v.Date) // validated when saved
			return at
		}
	}
	return time.Time{}
}

// Disabled disables an entry once one of its conditions is met.
func Disabled(e ahp.AutomationEntry, now time.Time) ahp.AutomationEntry {
	end, most := AfterDate(e.Definition), AfterRuns(e.Definition)
	if !end.IsZero() && !now.Before(end) || most > 0 && e.RunCount != nil && *e.RunCount >= most {
		e.Definition.Enabled, e.NextRunAt = false, ""
	}
	return e
}

// Due returns what to run at a given time, if anything, and the entry with its next due time. While
// busy, nothing runs: occurrences are missed, and made up for once or not, depending on their
// trigger.
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
		came := pendingOccurrence(s, from, now, busy)
		if !came.IsZero() && (first == nil || came.Before(at)) {
			at, first = came, &ahp.AutomationTriggerRunOrigin{TriggerID: s.ID, ScheduledFor: stamp(came)}
		}
	}
	switch {
	case first == nil:
		e.NextRunAt = stamp(next(e.Definition.Triggers, now))
		return e, nil
	case busy:
		e.NextRunAt = stamp(at) // made up for when the current run ends
		return e, nil
	}
	if now.Sub(at) > OnTime {
		first.CatchUp = ahp.Ptr(true)
	}
	return recordRun(e, now), first
}

// recordRun returns an entry after one of its occurrences runs: everything due until now is done.
func recordRun(e ahp.AutomationEntry, now time.Time) ahp.AutomationEntry {
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

// pendingOccurrence returns the occurrence of a trigger to run: the earliest one from a given time
// on, or the zero time. With the policy skip, only one on time counts.
func pendingOccurrence(t *ahp.AutomationScheduleTrigger, from, now time.Time, busy bool) time.Time {
	s, err := Parse(t.Schedule)
	if err != nil {
		return time.Time{} // validated when saved
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

// next returns the earliest occurrence of any trigger after a given time.
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

// Wake returns when an entry is next due; the zero time for never.
func Wake(e ahp.AutomationEntry) time.Time {
	if !e.Definition.Enabled {
		return time.Time{}
	}
	return earliest(parse(e.NextRunAt), AfterDate(e.Definition))
}

func parse(s string) time.Time {
	at, _ := time.Parse(time.RFC3339, s) // the zero time for ""
	return at
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
