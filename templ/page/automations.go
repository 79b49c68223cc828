package page

import (
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// Automations lists what runs by itself.
type Automations struct {
	Frame part.Frame
	Items []AutomationItem
}

// AutomationItem is one automation in the list.
type AutomationItem struct {
	Short, Title, Agent, Dir string
	Enabled                  bool
	Schedules                []string // in words, with the time zone; empty for one that runs by hand
	Next                     When
	Last                     *RunItem
	Request                  string // names the next run by hand, so that a form sent twice makes one
}

// Automation is one automation and its runs.
type Automation struct {
	Item    AutomationItem
	Prompt  string
	Config  []SettingLine
	Stops   []string // when it stops by itself, in words
	By      string   // who made it
	Changed When
	Active  []RunItem // that have not ended
	Runs    []RunItem
	Older   string // address of older runs
	Newer   string
}

// SettingLine is a setting of the sessions it makes.
type SettingLine struct {
	Title, Value string
	Risky        bool // nothing waits for an approval
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
	At      When   // when it began, or was made
	Why     string // "By hand", "By the clock", …
	Took    string
	Error   string
	Session string // short id; "" without one
	Active  bool
}

// When is a moment: drawn in the time zone it was meant in, and by the script in the reader's own.
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

// AutomationForm makes or changes an automation.
type AutomationForm struct {
	Frame    part.Frame
	Action   string // where it is sent; its own address is Action+"/edit", or "/automations/new"
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

// ScheduleFields are the part of the form that says when.
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
	Kept    []string // several schedules, made elsewhere: this form leaves them alone
	Preview SchedulePreview
}

// SchedulePreview says what the fields mean, or what is wrong with them.
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

// invalid marks a field for assistive technology and says where its problem stands.
func (f AutomationForm) invalid(field string) templ.Attributes {
	if f.Problems[field] == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": "problem-" + field}
}
