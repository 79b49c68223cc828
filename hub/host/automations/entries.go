package automations

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Get returns an entry of the catalogue.
func (p *Part) Get(uri ahp.URI) (e ahp.AutomationEntry, ok bool) {
	if all, ok := hub.StateOf[*ahp.AutomationState](p.core.Hub, ahp.AutomationsURI); ok {
		return findIn(all.Entries, uri)
	}
	return e, false
}

// List returns all automations, or nil if the caller may not see them.
func (p *Part) List(c core.Caller) []ahp.AutomationEntry {
	if !canSee(c) {
		return nil
	}
	if all, ok := hub.StateOf[*ahp.AutomationState](p.core.Hub, ahp.AutomationsURI); ok {
		return all.Entries
	}
	return nil
}

// ListRuns returns an automation's kept runs, newest first, or nil if the caller may not see them.
func (p *Part) ListRuns(c core.Caller, uri ahp.URI) []ahp.AutomationRunSummary {
	if !canSee(c) {
		return nil
	}
	return p.registry.listRuns(uri)
}

// canSee reports whether the caller may see automations.
func canSee(c core.Caller) bool {
	return access.MayCall(c.Principal, "runAutomation", channelInfo) == nil
}

// listEntries returns all automations. Do not change the list.
func listEntries(tx *hub.Tx) []ahp.AutomationEntry {
	if s, ok := hub.StateOf[*ahp.AutomationState](tx, ahp.AutomationsURI); ok {
		return s.Entries
	}
	return nil
}

func findEntry(tx *hub.Tx, uri ahp.URI) (ahp.AutomationEntry, bool) {
	return findIn(listEntries(tx), uri)
}

func findIn(list []ahp.AutomationEntry, uri ahp.URI) (e ahp.AutomationEntry, ok bool) {
	i := slices.IndexFunc(list, func(e ahp.AutomationEntry) bool { return e.Resource == uri })
	if i < 0 {
		return e, false
	}
	return list[i], true
}

// putEntry publishes an entry with its runs from the registry.
func (p *Part) putEntry(tx *hub.Tx, e ahp.AutomationEntry) {
	list, n := p.registry.listRuns(e.Resource), p.registry.countShown(e.Resource)
	more := false
	e.Runs, more = automation.Window(list, n)
	e.RunsNextCursor = ""
	if more {
		e.RunsNextCursor = encodeCursor(list[min(n, len(list))-1].Resource)
	}
	e.Operations = []ahp.AutomationOperation{
		ahp.AutomationOperationUpdate, ahp.AutomationOperationRemove, ahp.AutomationOperationRun}
	tx.Apply(ahp.AutomationsURI, &ahp.AutomationSetAction{Automation: e})
	p.wakeClock()
}

// refreshEntry publishes an entry after only its runs changed.
func (p *Part) refreshEntry(tx *hub.Tx, uri ahp.URI) {
	if e, ok := findEntry(tx, uri); ok {
		p.putEntry(tx, e)
	}
}

// encodeCursor returns the cursor for the runs older than run.
func encodeCursor(run ahp.URI) string {
	return base64.RawURLEncoding.EncodeToString([]byte("after:" + run))
}

// parseCursor returns the run of a cursor.
func parseCursor(s string) (run ahp.URI, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	run, ok = strings.CutPrefix(string(raw), "after:")
	return run, ok && err == nil
}
