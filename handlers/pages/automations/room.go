package automations

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// automationsRoom renders the list. It also follows root, which reports what sessions of runs wait for.
type automationsRoom struct {
	live.Redraw
	p   *Pages
	who access.Principal
}

// NewListRoom opens "automations".
func (p *Pages) NewListRoom(_ context.Context, who access.Principal, _ []string) (live.Room, error) {
	if !who.Has(access.RightManage) {
		return nil, live.ErrNoRoom
	}
	r := &automationsRoom{p: p, who: who}
	r.Draw = func(live.States) []live.Patch {
		return []live.Patch{live.Replace("automations", page.AutomationList(r.items()))}
	}
	return r, nil
}

// Channels implements live.Room.
func (r *automationsRoom) Channels() []ahp.URI { return []ahp.URI{ahp.RootURI, ahp.AutomationsURI} }

func (r *automationsRoom) items() []page.AutomationItem {
	c := core.Caller{Principal: r.who}
	out := []page.AutomationItem{}
	for _, e := range r.p.Automations.List(c) {
		out = append(out, r.p.automationItem(c, e))
	}
	return out
}

// automationRoom renders one automation with its newest runs.
type automationRoom struct {
	automationsRoom
	short string
}

// NewRoom opens "automation:<short>".
func (p *Pages) NewRoom(_ context.Context, who access.Principal, rest []string) (live.Room, error) {
	if !who.Has(access.RightManage) || len(rest) != 1 {
		return nil, live.ErrNoRoom
	}
	r := &automationRoom{automationsRoom{p: p, who: who}, rest[0]}
	r.Draw = func(live.States) []live.Patch { return []live.Patch{r.patch()} }
	return r, nil
}

// draw returns the current automation; if it was deleted, an empty one.
func (r *automationRoom) draw() page.Automation {
	c := core.Caller{Principal: r.who}
	e, _ := r.p.automationByShort(c, r.short)
	return r.p.drawAutomation(c, e, 0)
}

func (r *automationRoom) patch() live.Patch {
	if _, ok := r.p.automationByShort(core.Caller{Principal: r.who}, r.short); !ok {
		return live.Replace("automation", page.AutomationGone())
	}
	return live.Replace("automation", page.AutomationPart(r.draw()))
}

func (p *Pages) automationItem(c core.Caller, e ahp.AutomationEntry) page.AutomationItem {
	d := e.Definition
	it := page.AutomationItem{Short: core.ShortID(e.Resource), Title: d.Title, Agent: p.AgentName(d.Session.Provider),
		Dir: p.DefaultDir, Enabled: d.Enabled, Request: "first"}
	if len(d.Session.WorkingDirectories) > 0 {
		it.Dir = part.FilePath(d.Session.WorkingDirectories[0])
	}
	zone := time.UTC
	for _, t := range d.Triggers {
		words, z := triggerWords(t)
		it.Schedules, zone = append(it.Schedules, words), z
	}
	it.Next = page.When{At: moment(e.NextRunAt), Zone: zone}
	if len(e.Runs) > 0 {
		last := p.runItem(e.Runs[0], zone)
		it.Last, it.Request = &last, last.ID
	}
	return it
}

// triggerWords describes a trigger, and returns its time zone.
func triggerWords(t ahp.AutomationTrigger) (string, *time.Location) {
	v, ok := t.Value.(*ahp.AutomationScheduleTrigger)
	if !ok {
		return "On an event", time.UTC
	}
	s, err := automation.Parse(v.Schedule)
	zone, zoneErr := automation.Zone(v.Schedule.TimeZone)
	if err != nil || zoneErr != nil {
		return v.Schedule.Expression, time.UTC
	}
	return s.Words() + " (" + v.Schedule.TimeZone + ")", zone
}

func moment(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s) // "" gives the zero time
	return t
}

// drawAutomation returns one automation with a page of its ended runs.
func (p *Pages) drawAutomation(c core.Caller, e ahp.AutomationEntry, from int) page.Automation {
	a := page.Automation{Item: p.automationItem(c, e), Prompt: e.Definition.Message.Text,
		Config: p.settingLines(c, e.Definition.Session)}
	a.Stops = stopWords(e)
	a.Changed = page.When{At: moment(e.ModifiedAt)}
	if by, ok := core.ReadStamp(e.Meta); ok {
		a.By = by.By.Name
	}
	n := 0
	for _, r := range p.Automations.ListRuns(c, e.Resource) {
		if !automation.Ended(r.Lifecycle) {
			a.Active = append(a.Active, p.runItem(r, a.Item.Next.Zone))
			continue
		}
		if n >= from && n < from+automationRunsPage {
			a.Runs = append(a.Runs, p.runItem(r, a.Item.Next.Zone))
		}
		n++
	}
	if n > from+automationRunsPage {
		a.Older = olderRuns(automationPath(e.Resource), from+automationRunsPage)
	}
	if from > 0 {
		a.Active, a.Newer = nil, olderRuns(automationPath(e.Resource), from-automationRunsPage)
	}
	return a
}

func stopWords(e ahp.AutomationEntry) (out []string) {
	if most := automation.AfterRuns(e.Definition); most > 0 {
		out = append(out, fmt.Sprintf("after %d scheduled runs (%d so far)", most, site.OrZero(e.RunCount)))
	}
	if end := automation.AfterDate(e.Definition); !end.IsZero() {
		out = append(out, "on "+end.Add(-time.Second).In(zoneOf(e.Definition)).Format("2 January 2006"))
	}
	return out
}

// zoneOf returns the time zone of an automation's schedule.
func zoneOf(d ahp.AutomationDefinition) *time.Location {
	for _, t := range d.Triggers {
		if _, zone := triggerWords(t); zone != nil {
			return zone
		}
	}
	return time.UTC
}

// settingLines returns the initial settings of the automation's sessions.
func (p *Pages) settingLines(c core.Caller, t ahp.AutomationSessionTemplate) (out []page.SettingLine) {
	res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI,
		Provider: t.Provider, Config: t.Config})
	if err != nil {
		return nil // the agent is unavailable, which the next run reports
	}
	if t.Model != nil {
		out = append(out, page.SettingLine{Title: "Model", Value: t.Model.ID})
	}
	for _, s := range part.SettingsOf(res.Schema, res.Values, false, host.Unasked) {
		if s.List || s.Value == "" {
			continue
		}
		line := page.SettingLine{Title: s.Title, Value: s.Value, Risky: s.Risky}
		for _, choice := range s.Choices {
			if choice.Value == s.Value {
				line.Value = choice.Label
			}
		}
		out = append(out, line)
	}
	return out
}

func (p *Pages) runItem(r ahp.AutomationRunSummary, zone *time.Location) page.RunItem {
	t := automation.TimesOf(r.Lifecycle)
	it := page.RunItem{ID: core.ShortID(r.Resource), At: page.When{At: moment(cmp.Or(t.Started, t.Created)),
		Zone: zone},
		Why: why(r.Origin, zone), Active: !automation.Ended(r.Lifecycle)}
	if t.Started != "" && t.Completed != "" {
		it.Took = took(moment(t.Completed).Sub(moment(t.Started)))
	}
	it.Status = runStatus(r.Lifecycle)
	if f, ok := r.Lifecycle.Value.(*ahp.AutomationRunFailed); ok {
		it.Error = f.Error.Message
	}
	if s, ok := p.Host.Summary(r.PrimarySession); ok {
		it.Session = core.ShortID(r.PrimarySession)
		if it.Active && s.Status.Activity() == ahp.SessionStatusInputNeeded {
			it.Status = site.StatusOf(s.Status, s.Activity)
		}
	}
	return it
}

func runStatus(l ahp.AutomationRunLifecycle) part.Status {
	switch l.Value.(type) {
	case *ahp.AutomationRunPending:
		return part.Status{Icon: "idle", Word: "Waiting"}
	case *ahp.AutomationRunRunning:
		return part.Status{Icon: "running", Word: "Running", Class: "run"}
	case *ahp.AutomationRunCompleted:
		return part.Status{Icon: "done", Word: "Done", Class: "good"}
	case *ahp.AutomationRunFailed:
		return part.Status{Icon: "error", Word: "Failed", Class: "bad"}
	case *ahp.AutomationRunCancelled:
		return part.Status{Icon: "stop", Word: "Cancelled"}
	}
	return part.Status{Icon: "idle", Word: "Unknown"}
}

// why describes the origin of a run.
func why(o ahp.AutomationRunOrigin, zone *time.Location) string {
	v, ok := o.Value.(*ahp.AutomationTriggerRunOrigin)
	switch {
	case !ok:
		return "manual"
	case v.CatchUp != nil && *v.CatchUp:
		return "catch-up for " + moment(v.ScheduledFor).In(zone).Format("Mon 2 Jan 15:04 MST")
	}
	return "scheduled"
}

func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
