package automations

import (
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
)

// The presets and cron convert to each other.
func TestScheduleFields(t *testing.T) {
	for cron, when := range map[string]string{"5 * * * *": "hourly", "30 9 * * *": "daily", "30 9 * * 1-5": "weekdays",
		"30 9 * * MON-FRI": "weekdays", "0 18 * * 1,3": "weekly", "0 0 15 * *": "monthly", "*/10 * * * *": "cron",
		"0 9 1 1 *": "cron", "0 9,17 * * *": "cron", "0 9 13 * 5": "cron"} {
		f := fieldsOf(&ahp.AutomationScheduleTrigger{Schedule: ahp.AutomationSchedule{Expression: cron,
			TimeZone: "UTC"}})
		back, err := expression(f)
		if f.When != when || err != nil || strings.ReplaceAll(back, "1-5", "MON-FRI") != strings.ReplaceAll(cron, "1-5",
			"MON-FRI") {
			t.Errorf("%s is shown as %s and read as %q: %v", cron, f.When, back, err)
		}
	}
	for _, wrong := range []page.ScheduleFields{{When: "daily", Time: "9"}, {When: "hourly", Minute: "60"},
		{When: "weekly", Time: "09:00"},
		{When: "weekly", Time: "09:00", Days: []string{"9"}}, {When: "monthly", Time: "09:00", Day: "0"},
		{When: "cron"}, {When: ""}} {
		if text, err := expression(wrong); err == nil {
			t.Errorf("%+v is read as %q", wrong, text)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Millisecond: "under 1 s", 3 * time.Second: "3 s",
		90 * time.Second: "1 min", 90 * time.Minute: "1 h 30 min"} {
		if got := took(d); got != want {
			t.Errorf("%s is %q", d, got)
		}
	}
}
