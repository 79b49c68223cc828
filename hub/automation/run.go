package automation

import (
	"cmp"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Times holds the times of a lifecycle; "" for later steps.
type Times struct{ Created, Started, Completed string }

// TimesOf returns the times of a lifecycle.
func TimesOf(l ahp.AutomationRunLifecycle) Times {
	switch v := l.Value.(type) {
	case *ahp.AutomationRunPending:
		return Times{Created: v.CreatedAt}
	case *ahp.AutomationRunRunning:
		return Times{v.CreatedAt, v.StartedAt, ""}
	case *ahp.AutomationRunCompleted:
		return Times{v.CreatedAt, v.StartedAt, v.CompletedAt}
	case *ahp.AutomationRunFailed:
		return Times{v.CreatedAt, v.StartedAt, v.CompletedAt}
	case *ahp.AutomationRunCancelled:
		return Times{v.CreatedAt, v.StartedAt, v.CompletedAt}
	}
	return Times{}
}

// Ended reports whether a run has ended.
func Ended(l ahp.AutomationRunLifecycle) bool {
	switch l.Value.(type) {
	case *ahp.AutomationRunPending, *ahp.AutomationRunRunning:
		return false
	}
	return true
}

// Running reports whether a run has started and not ended.
func Running(l ahp.AutomationRunLifecycle) bool {
	_, ok := l.Value.(*ahp.AutomationRunRunning)
	return ok
}

// Summary returns a run's entry in its automation's list.
func Summary(s *ahp.AutomationRunState) ahp.AutomationRunSummary {
	return ahp.AutomationRunSummary{Resource: s.Resource, Automation: s.Automation, Origin: s.Origin,
		Lifecycle:      s.Lifecycle,
		PrimarySession: s.PrimarySession, SessionCount: int64(len(s.Sessions)), Meta: s.Meta}
}

// NewestFirst compares runs by creation time.
func NewestFirst(a, b ahp.AutomationRunSummary) int {
	return cmp.Or(-cmp.Compare(TimesOf(a.Lifecycle).Created, TimesOf(b.Lifecycle).Created),
		-cmp.Compare(a.Resource, b.Resource))
}

// Prune splits runs, newest first, into those to keep and those above the limit. Runs that have not
// ended are kept and do not count.
func Prune(list []ahp.AutomationRunSummary, limit int) (kept, gone []ahp.AutomationRunSummary) {
	for _, r := range list {
		switch {
		case !Ended(r.Lifecycle):
		case limit == 0:
			gone = append(gone, r)
			continue
		default:
			limit--
		}
		kept = append(kept, r)
	}
	return kept, gone
}

// Window returns the runs that an automation's entry shows: the newest n, and all that have not
// ended. more reports whether there are older ones.
func Window(list []ahp.AutomationRunSummary, n int) (shown []ahp.AutomationRunSummary, more bool) {
	shown = slices.Clone(list[:min(n, len(list))])
	for _, r := range list[len(shown):] {
		if !Ended(r.Lifecycle) {
			shown = append(shown, r)
		} else {
			more = true
		}
	}
	return append([]ahp.AutomationRunSummary{}, shown...), more
}
