package automation

import (
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, field, says string
		change            func(*ahp.AutomationDefinition)
	}{
		{"fine", "", "", func(*ahp.AutomationDefinition) {}},
		{"no title", "title", "needs a title", func(d *ahp.AutomationDefinition) { d.Title = " \n " }},
		{"long title", "title", "too long", func(d *ahp.AutomationDefinition) { d.Title = strings.Repeat("x", 201) }},
		{"no message", "message", "empty", func(d *ahp.AutomationDefinition) { d.Message.Text = " " }},
		{"somebody's message", "message", "must be automation",
			func(d *ahp.AutomationDefinition) { d.Message.Origin.Kind = "user" }},
		{"another session's chat", "message", "belong to a session", func(d *ahp.AutomationDefinition) {
			d.Message.Attachments = []ahp.MessageAttachment{{Value: &ahp.MessageChatAttachment{}}}
		}},
		{"customizations", "session", "cannot have any", func(d *ahp.AutomationDefinition) {
			d.Session.Customizations = make([]ahp.ClientPluginCustomization, 1)
		}},
		{"event", "schedule", "only schedule triggers", func(d *ahp.AutomationDefinition) {
			d.Triggers = []ahp.AutomationTrigger{{Value: &ahp.AutomationEventTrigger{ID: "e"}}}
		}},
		{"no id", "schedule", "its own id", func(d *ahp.AutomationDefinition) {
			d.Triggers = append(d.Triggers,
				every("", "0 9 * * *", ""))
		}},
		{"id twice", "schedule", "its own id", func(d *ahp.AutomationDefinition) {
			d.Triggers = append(d.Triggers,
				every("h", "0 9 * * *", ""))
		}},
		{"unknown policy", "schedule", "skip or runOnce", func(d *ahp.AutomationDefinition) {
			d.Triggers = []ahp.AutomationTrigger{every("h", "0 9 * * *", "all")}
		}},
		{"bad schedule", "schedule", "five fields",
			func(d *ahp.AutomationDefinition) { d.Triggers = []ahp.AutomationTrigger{every("h", "0 9", "")} }},
		{"too often", "schedule", "at least 5 minutes", func(d *ahp.AutomationDefinition) {
			d.Triggers = []ahp.AutomationTrigger{every("h", "* * * * *", "")}
		}},
		{"too many", "schedule", "at most 8",
			func(d *ahp.AutomationDefinition) { d.Triggers = make([]ahp.AutomationTrigger, 9) }},
		{"no runs", "conditions", "above 0",
			func(d *ahp.AutomationDefinition) { d.DisableConditions = []ahp.AutomationDisableCondition{after(0)} }},
		{"no date", "conditions", "no time", func(d *ahp.AutomationDefinition) {
			d.DisableConditions = []ahp.AutomationDisableCondition{until("tomorrow")}
		}},
		{"twice", "conditions", "twice", func(d *ahp.AutomationDefinition) {
			d.DisableConditions = []ahp.AutomationDisableCondition{after(1), after(1)}
		}},
		{"both", "", "", func(d *ahp.AutomationDefinition) {
			d.DisableConditions = []ahp.AutomationDisableCondition{after(1), until("2030-01-01T00:00:00Z")}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := definition(every("h", "0 * * * *", ""))
			c.change(&d)
			err := Check(&d, Limits{})
			p, _ := AsProblem(err)
			switch {
			case c.field == "" && err != nil:
				t.Error(err)
			case c.field != "" && (p == nil || p.Field != c.field || !strings.Contains(p.Text, c.says)):
				t.Errorf("%v, want it about %s and to say %q", err, c.field, c.says)
			}
		})
	}
	d := definition()
	d.Title, d.Triggers = "  Tidy\n up ", nil
	if err := Check(&d, Limits{}); err != nil || d.Title != "Tidy up" ||
		d.Message.Origin.Kind != ahp.MessageKindAutomation || d.Triggers == nil {
		t.Errorf("kept as %+v: %v", d, err)
	}
}

func TestApplyReplacesWholeFields(t *testing.T) {
	d := definition(every("h", "0 * * * *", ""))
	d.DisableConditions = []ahp.AutomationDisableCondition{after(3)}
	d.Meta = ahp.Meta{"theirs": []byte("1")}
	got := Apply(d, ahp.AutomationDefinitionPatch{Title: ahp.Ptr("New"), Enabled: ahp.Ptr(false)})
	if got.Title != "New" || got.Enabled || len(got.Triggers) != 1 || len(got.DisableConditions) != 1 ||
		got.Meta["theirs"] == nil {
		t.Errorf("what was left out changed: %+v", got)
	}
	got = Apply(d, ahp.AutomationDefinitionPatch{Triggers: []ahp.AutomationTrigger{},
		DisableConditions: []ahp.AutomationDisableCondition{},
		Session:           &ahp.AutomationSessionTemplate{Provider: "x"}, Message: &ahp.Message{Text: "m"},
		Meta: ahp.Meta{}})
	if len(got.Triggers)+len(got.DisableConditions)+len(got.Meta) != 0 || got.Session.Provider != "x" ||
		got.Message.Text != "m" {
		t.Errorf("what was replaced is %+v", got)
	}
}

func run(id, created string, ended bool) ahp.AutomationRunSummary {
	l := ahp.AutomationRunLifecycle{Value: &ahp.AutomationRunRunning{CreatedAt: created, StartedAt: created}}
	if ended {
		l.Value = &ahp.AutomationRunCompleted{CreatedAt: created, StartedAt: created, CompletedAt: created}
	}
	return ahp.AutomationRunSummary{Resource: id, Lifecycle: l}
}

func TestHistory(t *testing.T) {
	list := []ahp.AutomationRunSummary{run("e", "5", true), run("d", "4", false), run("c", "3", true),
		run("b", "2", true), run("a", "1", false)}
	kept, gone := Prune(list, 2)
	if ids(kept) != "edca" || ids(gone) != "b" {
		t.Errorf("kept %s, gone %s: what has not ended does not count", ids(kept), ids(gone))
	}
	if shown, more := Window(list, 2); ids(shown) != "eda" || !more {
		t.Errorf("shown %s, more %v", ids(shown), more)
	}
	if shown, more := Window(list, 4); ids(shown) != "edcba" || more {
		t.Errorf("shown %s, more %v", ids(shown), more)
	}
	if NewestFirst(list[0], list[1]) >= 0 || NewestFirst(list[1], list[1]) != 0 {
		t.Error("the newest does not come first")
	}
}

func ids(list []ahp.AutomationRunSummary) (s string) {
	for _, r := range list {
		s += r.Resource
	}
	return s
}

func TestMinutes(t *testing.T) {
	if minutes(time.Minute) != "minute" || minutes(5*time.Minute) != "5 minutes" {
		t.Error(minutes(time.Minute), minutes(5*time.Minute))
	}
}
