package host

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
)

// Buckets of what no channel holds. Definitions are the state of the catalogue's channel, a run is the state of its own.
const (
	bucketRuns     = "automation-run"     // key: run URI, value: its ahp.AutomationRunSummary
	bucketRequests = "automation-request" // key: automation URI, value: []runRequest
)

const (
	automationScheme = "ahp-automation:"
	runScheme        = "ahp-automation-run:/"
	runsPage         = 20  // runs an entry shows before somebody asks for older ones
	mostRequests     = 500 // ids of manual runs that an automation remembers
	mostPending      = 8   // runs of one automation that wait
)

var automationsInfo = hub.ChannelInfo{URI: ahp.AutomationsURI, Kind: ahp.ChannelAutomations}

// automations is what the host knows of runs besides their channels. It is written under the hub's lock and read without
// it, so its own lock is never held over a call.
type automations struct {
	mu       *sync.RWMutex
	runs     map[ahp.URI][]ahp.AutomationRunSummary // of each automation, newest first
	requests map[ahp.URI][]runRequest               // of each automation, oldest first
	shown    map[ahp.URI]int                        // how many runs an entry shows, when that is not runsPage
	starting map[ahp.URI]bool                       // runs whose session is being made
	wake     chan struct{}                          // the clock has something new to look at
}

// runRequest remembers which run a client's request made, so that asking twice makes one.
type runRequest struct {
	ID  string  `json:"id"`
	Run ahp.URI `json:"run"`
}

func newAutomations() automations {
	return automations{mu: new(sync.RWMutex), runs: map[ahp.URI][]ahp.AutomationRunSummary{}, requests: map[ahp.URI][]runRequest{},
		shown: map[ahp.URI]int{}, starting: map[ahp.URI]bool{}, wake: make(chan struct{}, 1)}
}

// runsOf lists an automation's runs, newest first. Nobody changes the list.
func (a *automations) runsOf(uri ahp.URI) []ahp.AutomationRunSummary {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.runs[uri]
}

func (a *automations) setRuns(uri ahp.URI, list []ahp.AutomationRunSummary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[uri] = list
}

func (a *automations) show(uri ahp.URI, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown[uri] = n
}

func (a *automations) shows(uri ahp.URI) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return cmp.Or(a.shown[uri], runsPage)
}

// start marks a run whose session is being made; false when it is marked already.
func (a *automations) start(run ahp.URI) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.starting[run] {
		return false
	}
	a.starting[run] = true
	return true
}

func (a *automations) started(run ahp.URI) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.starting, run)
}

// busy counts the runs at work, and tells whether one of them is the automation's.
func (a *automations) busy(uri ahp.URI) (all int, own bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for automationURI, list := range a.runs {
		for _, r := range list {
			if a.starting[r.Resource] || automation.Running(r.Lifecycle) {
				all, own = all+1, own || automationURI == uri
			}
		}
	}
	return all, own
}

// goesOn tells whether any run of an automation has not ended, those that wait included.
func (a *automations) goesOn(uri ahp.URI) bool {
	return slices.ContainsFunc(a.runsOf(uri), func(r ahp.AutomationRunSummary) bool { return !automation.Ended(r.Lifecycle) })
}

func (a *automations) forget(uri ahp.URI) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, uri)
	delete(a.requests, uri)
	delete(a.shown, uri)
}

// poke has the clock look again.
func (a *automations) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// openAutomations opens the catalogue, or wakes that of the last run, and reads what is known of runs.
func (h *Host) openAutomations(ctx context.Context) error {
	if _, known := h.core.Hub.Info(ahp.AutomationsURI); !known {
		return h.core.Do(ctx, func(tx *hub.Tx) {
			h.core.MustOpen(tx, automationsInfo, &ahp.AutomationState{Entries: []ahp.AutomationEntry{}})
		})
	}
	if err := h.core.Ensure(ctx, ahp.AutomationsURI); err != nil {
		return fmt.Errorf("read the automations: %w", err)
	}
	if err := h.readRuns(ctx); err != nil {
		return fmt.Errorf("read the runs of automations: %w", err)
	}
	return nil
}

func (h *Host) readRuns(ctx context.Context) error {
	err := h.eachRecord(ctx, bucketRuns, func(_ string, value []byte) error {
		var r ahp.AutomationRunSummary
		if err := json.Unmarshal(value, &r); err != nil {
			return err
		}
		h.automations.runs[r.Automation] = append(h.automations.runs[r.Automation], r)
		if automation.Ended(r.Lifecycle) {
			return nil
		}
		return h.core.Ensure(ctx, r.Resource)
	})
	if err != nil {
		return err
	}
	for _, list := range h.automations.runs {
		slices.SortFunc(list, automation.NewestFirst)
	}
	return h.eachRecord(ctx, bucketRequests, func(key string, value []byte) error {
		var list []runRequest
		if err := json.Unmarshal(value, &list); err != nil {
			return err
		}
		h.automations.requests[key] = list
		return nil
	})
}

func (h *Host) eachRecord(ctx context.Context, bucket string, f func(key string, value []byte) error) error {
	if h.core.Store == nil {
		return nil
	}
	records, err := h.core.Store.Records(ctx, bucket)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := f(r.Key, r.Value); err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
	}
	return nil
}

// entries are all automations as they are now; they never change.
func entries(tx *hub.Tx) []ahp.AutomationEntry {
	if s, ok := hub.StateOf[*ahp.AutomationState](tx, ahp.AutomationsURI); ok {
		return s.Entries
	}
	return nil
}

func entryOf(tx *hub.Tx, uri ahp.URI) (e ahp.AutomationEntry, ok bool) {
	list := entries(tx)
	i := slices.IndexFunc(list, func(e ahp.AutomationEntry) bool { return e.Resource == uri })
	if i < 0 {
		return e, false
	}
	return list[i], true
}

// putAutomation tells everybody what an entry is now; its runs come from the host's own list.
func (h *Host) putAutomation(tx *hub.Tx, e ahp.AutomationEntry) {
	list, n := h.automations.runsOf(e.Resource), h.automations.shows(e.Resource)
	more := false
	e.Runs, more = automation.Window(list, n)
	e.RunsNextCursor = ""
	if more {
		e.RunsNextCursor = runsCursor(list[min(n, len(list))-1].Resource)
	}
	e.Operations = []ahp.AutomationOperation{ahp.AutomationOperationUpdate, ahp.AutomationOperationRemove, ahp.AutomationOperationRun}
	tx.Apply(ahp.AutomationsURI, &ahp.AutomationSetAction{Automation: e})
	h.automations.poke()
}

// touchAutomation is putAutomation for an entry of which only the runs changed.
func (h *Host) touchAutomation(tx *hub.Tx, uri ahp.URI) {
	if e, ok := entryOf(tx, uri); ok {
		h.putAutomation(tx, e)
	}
}

// runsCursor stands for the runs older than one.
func runsCursor(run ahp.URI) string {
	return base64.RawURLEncoding.EncodeToString([]byte("after:" + run))
}

func parseRunsCursor(s string) (run ahp.URI, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	run, ok = strings.CutPrefix(string(raw), "after:")
	return run, ok && err == nil
}
