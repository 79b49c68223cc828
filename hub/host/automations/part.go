package automations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Buckets of records outside channels. Definitions are state of the catalogue's channel, and a run
// is state of its own channel.
const (
	runsBucket     = "automation-run"     // key: run URI, value: its ahp.AutomationRunSummary
	requestsBucket = "automation-request" // key: automation URI, value: []request
)

const (
	entryScheme = "ahp-automation:"
	runScheme   = "ahp-automation-run:/"
)

// MaxPending is the limit of pending runs per automation.
const MaxPending = 8

var channelInfo = hub.ChannelInfo{URI: ahp.AutomationsURI, Kind: ahp.ChannelAutomations}

// Config provides the host's agents and sessions to a Part.
type Config struct {
	// CheckProvider returns error -32002 unless the host has this agent; "" names the default
	// agent.
	CheckProvider func(provider string) error

	// CheckTemplate returns why no session can be created from a template now, as an *ahp.Error.
	CheckTemplate func(context.Context, ahp.AutomationSessionTemplate) error

	// NewSession validates the parameters and returns the first state of a session that is not open
	// yet.
	NewSession func(context.Context, core.Caller, ahp.CreateSessionParams) (*ahp.SessionState, error)

	// Isolate creates the worktree that a session's settings ask for. undo removes it and is never
	// nil.
	Isolate func(ctx context.Context, session ahp.URI, state *ahp.SessionState) (undo func(), err error)

	// OpenSession opens the channels of a new session in this step.
	OpenSession func(tx *hub.Tx, session ahp.URI, state *ahp.SessionState) error
}

// Part manages automations and their runs.
type Part struct {
	core     *core.Core
	cfg      Config
	registry registry
	wake     chan struct{} // signals changed entries to the clock
}

// New returns a Part without automations. Call Load before use.
func New(c *core.Core, cfg Config) *Part {
	return &Part{core: c, cfg: cfg, registry: newRegistry(), wake: make(chan struct{}, 1)}
}

// Rules returns the checks of clients' actions on automations and runs.
func (p *Part) Rules() map[string]core.Check {
	return map[string]core.Check{
		"automation/createRequested":    core.Rule(p.checkCreate),
		"automation/updateRequested":    core.Rule(p.checkUpdate),
		"automation/removed":            core.Rule(p.checkRemoved),
		"automationRun/cancelRequested": core.Rule(p.checkRunCancel),
	}
}

// Load opens or loads the catalogue, and reads the records of runs.
func (p *Part) Load(ctx context.Context) error {
	if _, known := p.core.Hub.Info(ahp.AutomationsURI); !known {
		return p.core.Do(ctx, func(tx *hub.Tx) {
			p.core.MustOpen(tx, channelInfo, &ahp.AutomationState{Entries: []ahp.AutomationEntry{}})
		})
	}
	if err := p.core.Ensure(ctx, ahp.AutomationsURI); err != nil {
		return fmt.Errorf("read the automations: %w", err)
	}
	if err := p.loadRuns(ctx); err != nil {
		return fmt.Errorf("read the runs of automations: %w", err)
	}
	return nil
}

// loadRuns reads the records of runs and requests, and loads the runs that have not ended.
func (p *Part) loadRuns(ctx context.Context) error {
	err := p.eachRecord(ctx, runsBucket, func(_ string, value []byte) error {
		var r ahp.AutomationRunSummary
		if err := json.Unmarshal(value, &r); err != nil {
			return err
		}
		p.registry.runs[r.Automation] = append(p.registry.runs[r.Automation], r)
		if automation.Ended(r.Lifecycle) {
			return nil
		}
		return p.core.Ensure(ctx, r.Resource)
	})
	if err != nil {
		return err
	}
	for _, list := range p.registry.runs {
		slices.SortFunc(list, automation.NewestFirst)
	}
	return p.eachRecord(ctx, requestsBucket, func(key string, value []byte) error {
		var list []request
		if err := json.Unmarshal(value, &list); err != nil {
			return err
		}
		p.registry.requests[key] = list
		return nil
	})
}

func (p *Part) eachRecord(ctx context.Context, bucket string, f func(key string, value []byte) error) error {
	if p.core.Store == nil {
		return nil
	}
	records, err := p.core.Store.Records(ctx, bucket)
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

// Recover fails runs that were interrupted by a restart, and starts pending ones. Call it after
// Load, and after interrupted turns have ended.
func (p *Part) Recover(ctx context.Context) error {
	return p.core.Do(ctx, func(tx *hub.Tx) {
		for _, e := range listEntries(tx) {
			for _, r := range p.registry.listRuns(e.Resource) {
				if automation.Running(r.Lifecycle) {
					p.finishRun(tx, r.Resource, p.newFailure(tx, r.Resource, ahp.ErrorInfo{ErrorType: "interrupted",
						Message: "ahphub stopped during this run. Open its session to resume it, or run the " +
							"automation again."}))
				}
			}
		}
		p.startWaiting(tx)
	})
}
