package page

import (
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Automations is the list of automations.
type Automations struct {
	Frame part.Frame
	Items []AutomationItem
}

// AutomationItem is one automation in the list.
type AutomationItem struct {
	Short, Title, Agent, Dir string
	Enabled                  bool
	Schedules                []string // in words, with the time zone; empty for manual runs only
	Next                     When
	Last                     *RunItem
	Request                  string // names the next manual run, so that a form sent twice starts only one
}

// Automation is one automation and its runs.
type Automation struct {
	Item    AutomationItem
	Prompt  string
	Config  []SettingLine
	Stops   []string // when it disables itself, in words
	By      string   // its creator
	Changed When
	Active  []RunItem // runs in progress
	Runs    []RunItem
	Older   string // address of older runs
	Newer   string
}

// SettingLine is a setting of the automation's sessions.
type SettingLine struct {
	Title, Value string
	Risky        bool // skips approvals
}

// AutomationPageModel is the page of one automation.
type AutomationPageModel struct {
	Frame part.Frame
	It    Automation
}

// RunItem is one run.
type RunItem struct {
	ID      string
	Status  part.Status
	At      When   // its start, or its creation
	Why     string // "manual", "scheduled", …
	Took    string
	Error   string
	Session string // short id; "" without one
	Active  bool
}

// When is a time: rendered in the schedule's time zone, and converted by a script to the reader's own.
type When struct {
	At   time.Time
	Zone *time.Location // nil for UTC
}

func (w When) text() string {
	zone := w.Zone
	if zone == nil {
		zone = time.UTC
	}
	return w.At.In(zone).Format("Mon 2 Jan 15:04 MST")
}

func (w When) stamp() string { return w.At.UTC().Format(time.RFC3339) }

func (a AutomationItem) base() string { return "/automations/" + a.Short }

func (a AutomationItem) state() part.Status {
	switch {
	case !a.Enabled:
		return part.Status{Icon: "stop", Word: "Off"}
	case len(a.Schedules) == 0:
		return part.Status{Icon: "user", Word: "Manual"}
	}
	return part.Status{Icon: "clock", Word: "On", Class: "good"}
}

// AutomationForm is the form that creates or edits an automation.
type AutomationForm struct {
	Frame    part.Frame
	Action   string // the form's target; its own address is Action+"/edit", or "/automations/new"
	Back     string
	New      bool
	Title    string
	Dir      string
	Recent   []string
	Agents   []ahp.AgentInfo
	Agent    string
	Config   []part.Setting
	Message  string
	Schedule ScheduleFields
	Enabled  bool
	StopRuns string
	StopDate string
	Problems map[string]string // by field: "title", "agent", "dir", "config", "message", "conditions", "form"
}

// ScheduleFields are the form's fields for the schedule.
type ScheduleFields struct {
	When    string // "manual", "hourly", "daily", "weekdays", "weekly", "monthly" or "cron"
	Time    string // "09:30"
	Minute  string
	Days    []string // of the week, "1" for Monday
	Day     string   // of the month
	Cron    string
	Zone    string
	Zones   []string
	CatchUp bool
	Kept    []string // several schedules, created elsewhere, which this form does not change
	Preview SchedulePreview
}

// SchedulePreview describes the schedule, or what is wrong with it.
type SchedulePreview struct {
	Words   string
	Next    []When
	Problem string
}

var presets = []struct{ value, label string }{
	{"manual", "Manual"}, {"hourly", "Hourly"}, {"daily", "Daily"}, {"weekdays", "Weekdays"},
	{"weekly", "Weekly"}, {"monthly", "Monthly"}, {"cron", "Cron"},
}

var weekdays = []struct{ value, label, name string }{
	{"1", "Mo", "Monday"}, {"2", "Tu", "Tuesday"}, {"3", "We", "Wednesday"}, {"4", "Th", "Thursday"},
	{"5", "Fr", "Friday"}, {"6", "Sa", "Saturday"}, {"0", "Su", "Sunday"},
}

func (f AutomationForm) own() string {
	if f.New {
		return "/automations/new"
	}
	return f.Action + "/edit"
}

// invalid marks a field as invalid for assistive technology and references its error.
func (f AutomationForm) invalid(field string) templ.Attributes {
	if f.Problems[field] == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": "problem-" + field}
}
