package automation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// Limits bounds definitions. Zero fields take the stated default.
type Limits struct {
	Interval time.Duration // minimum time between two occurrences of a schedule: 5 min
	Triggers int           // of one automation: 8
}

func (l Limits) withDefaults() Limits {
	l.Interval = cmp.Or(l.Interval, 5*time.Minute)
	l.Triggers = cmp.Or(l.Triggers, 8)
	return l
}

const (
	mostTitle   = 200
	mostTrigger = 64 // bytes of a trigger's id
)

// Problem is an error in a definition, with its field.
type Problem struct {
	Field string // "title", "message", "session", "schedule", "conditions"
	Text  string
}

func (p *Problem) Error() string { return p.Text }

func problem(field, format string, args ...any) error {
	return &Problem{field, fmt.Sprintf(format, args...)}
}

// Check validates the parts of a definition that need neither an agent nor a disk, and normalizes
// it: the title to one line, the message to an automation's. The error is a *Problem.
func Check(d *ahp.AutomationDefinition, l Limits) error {
	l = l.withDefaults()
	d.Title = texts.OneLine(d.Title)
	switch {
	case d.Title == "":
		return problem("title", "an automation needs a title")
	case len(d.Title) > mostTitle:
		return problem("title", "this title is too long: at most %d bytes", mostTitle)
	}
	if err := checkMessage(&d.Message); err != nil {
		return err
	}
	if len(d.Session.Customizations) > 0 {
		return problem("session", "session.customizations: automations cannot have any")
	}
	if d.Triggers == nil {
		d.Triggers = []ahp.AutomationTrigger{}
	}
	if err := checkTriggers(d.Triggers, l); err != nil {
		return err
	}
	return checkConditions(d.DisableConditions)
}

func checkMessage(m *ahp.Message) error {
	m.Origin.Kind = cmp.Or(m.Origin.Kind, ahp.MessageKindAutomation)
	switch {
	case m.Origin.Kind != ahp.MessageKindAutomation:
		return problem("message", "message.origin.kind must be automation, not %.40s", m.Origin.Kind)
	case strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0:
		return problem("message", "this message is empty: say what the agent should do")
	}
	for _, a := range m.Attachments {
		switch a.Value.(type) {
		case *ahp.MessageAnnotationsAttachment, *ahp.MessageChatAttachment:
			return problem("message",
				"threads and chats belong to a session: an automation makes a new one for each run")
		}
	}
	return nil
}

func checkTriggers(list []ahp.AutomationTrigger, l Limits) error {
	if len(list) > l.Triggers {
		return problem("schedule", "an automation has at most %d triggers", l.Triggers)
	}
	seen := map[string]bool{}
	for _, t := range list {
		s, ok := t.Value.(*ahp.AutomationScheduleTrigger)
		if !ok {
			return problem("schedule",
				"only schedule triggers are supported, because this server has no events to wait for")
		}
		if s.ID == "" || len(s.ID) > mostTrigger || seen[s.ID] {
			return problem("schedule", "trigger %.80q: each trigger needs its own id of 1 to %d bytes", s.ID,
				mostTrigger)
		}
		seen[s.ID] = true
		if err := checkTrigger(s, l); err != nil {
			return err
		}
	}
	return nil
}

func checkTrigger(t *ahp.AutomationScheduleTrigger, l Limits) error {
	switch t.MisfirePolicy {
	case "", ahp.AutomationMisfirePolicySkip, ahp.AutomationMisfirePolicyRunOnce:
	default:
		return problem("schedule", "misfirePolicy cannot be %.40q: it is skip or runOnce", t.MisfirePolicy)
	}
	s, err := Parse(t.Schedule)
	if err != nil {
		return problem("schedule", "%s", err)
	}
	if err := Often(s, l.Interval); err != nil {
		return problem("schedule", "%s", err)
	}
	return nil
}

// Often reports whether a schedule runs more often than a host allows.
func Often(s Schedule, least time.Duration) error {
	if got := s.Shortest(); got < least {
		return fmt.Errorf("this schedule runs every %s. Leave at least %s between two runs",
			minutes(got), minutes(least))
	}
	return nil
}

func minutes(d time.Duration) string {
	if d == time.Minute {
		return "minute"
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

func checkConditions(list []ahp.AutomationDisableCondition) error {
	kinds := map[string]bool{}
	for _, c := range list {
		kind, err := checkCondition(c)
		if err != nil {
			return err
		}
		if kinds[kind] {
			return problem("conditions", "disableConditions names %s twice: give each kind at most once", kind)
		}
		kinds[kind] = true
	}
	return nil
}

func checkCondition(c ahp.AutomationDisableCondition) (kind string, err error) {
	switch v := c.Value.(type) {
	case *ahp.AutomationAfterRunsCondition:
		if v.Max < 1 {
			return "", problem("conditions", "afterRuns needs a number of runs above 0")
		}
		return "afterRuns", nil
	case *ahp.AutomationAfterDateCondition:
		if _, err := time.Parse(time.RFC3339, v.Date); err != nil {
			return "", problem("conditions", "afterDate: %.40q is no time: write it like 2027-01-31T18:00:00Z", v.Date)
		}
		return "afterDate", nil
	}
	return "", problem("conditions", "only the conditions afterRuns and afterDate are supported")
}

// Apply returns a definition with some fields replaced as a whole.
func Apply(d ahp.AutomationDefinition, p ahp.AutomationDefinitionPatch) ahp.AutomationDefinition {
	if p.Title != nil {
		d.Title = *p.Title
	}
	if p.Message != nil {
		d.Message = *p.Message
	}
	if p.Session != nil {
		d.Session = *p.Session
	}
	if p.Enabled != nil {
		d.Enabled = *p.Enabled
	}
	if p.Triggers != nil {
		d.Triggers = slices.Clone(p.Triggers)
	}
	if p.DisableConditions != nil {
		d.DisableConditions = slices.Clone(p.DisableConditions)
	}
	if p.Meta != nil {
		d.Meta = p.Meta
	}
	return d
}

// AsProblem finds the *Problem in an error.
func AsProblem(err error) (*Problem, bool) { return errors.AsType[*Problem](err) }
