package automations

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
)

const (
	runsPerPage = 20  // runs that an entry shows by default
	maxRequests = 500 // remembered ids of manual runs per automation
)

// registry holds the runs' data outside their channels. It is written under the hub's lock but read
// without it. Its own lock is never held during a call. Its lists are replaced, never modified.
type registry struct {
	mu       *sync.RWMutex
	runs     map[ahp.URI][]ahp.AutomationRunSummary // by automation, newest first
	requests map[ahp.URI][]request                  // by automation, oldest first
	shown    map[ahp.URI]int                        // number of runs that an entry shows, if not runsPerPage
	starting map[ahp.URI]bool                       // runs whose session is being created
}

// request maps a client's request to its run, so that a repeated request starts no second run.
type request struct {
	ID  string  `json:"id"`
	Run ahp.URI `json:"run"`
}

func newRegistry() registry {
	return registry{mu: new(sync.RWMutex), runs: map[ahp.URI][]ahp.AutomationRunSummary{},
		requests: map[ahp.URI][]request{}, shown: map[ahp.URI]int{}, starting: map[ahp.URI]bool{}}
}

// listRuns returns an automation's runs, newest first. Do not change the list.
func (r *registry) listRuns(uri ahp.URI) []ahp.AutomationRunSummary {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.runs[uri]
}

func (r *registry) setRuns(uri ahp.URI, list []ahp.AutomationRunSummary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[uri] = list
}

func (r *registry) listRequests(uri ahp.URI) []request {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.requests[uri]
}

func (r *registry) setRequests(uri ahp.URI, list []request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[uri] = list
}

// setShown sets the number of runs that an entry shows.
func (r *registry) setShown(uri ahp.URI, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown[uri] = n
}

// countShown returns the number of runs that an entry shows.
func (r *registry) countShown(uri ahp.URI) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return cmp.Or(r.shown[uri], runsPerPage)
}

// markStarting marks a run whose session is being created. It returns false if the run is already
// marked.
func (r *registry) markStarting(run ahp.URI) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starting[run] {
		return false
	}
	r.starting[run] = true
	return true
}

func (r *registry) unmarkStarting(run ahp.URI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starting, run)
}

// countBusy returns the number of starting and running runs, and whether one belongs to the
// automation.
func (r *registry) countBusy(uri ahp.URI) (all int, own bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for automationURI, list := range r.runs {
		for _, run := range list {
			if r.starting[run.Resource] || automation.Running(run.Lifecycle) {
				all, own = all+1, own || automationURI == uri
			}
		}
	}
	return all, own
}

// hasOpenRun reports whether an automation has a run that has not ended, including pending ones.
func (r *registry) hasOpenRun(uri ahp.URI) bool {
	return slices.ContainsFunc(r.listRuns(uri), func(run ahp.AutomationRunSummary) bool {
		return !automation.Ended(run.Lifecycle)
	})
}

// listEnded returns all runs that have ended.
func (r *registry) listEnded() (list []ahp.URI) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, runs := range r.runs {
		for _, run := range runs {
			if automation.Ended(run.Lifecycle) {
				list = append(list, run.Resource)
			}
		}
	}
	return list
}

// forget removes an automation.
func (r *registry) forget(uri ahp.URI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, uri)
	delete(r.requests, uri)
	delete(r.shown, uri)
}
