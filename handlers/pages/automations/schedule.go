package automations

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
)

// someZones are offered until the script lists all time zones of the browser.
var someZones = []string{"UTC", "Europe/London", "Europe/Berlin", "Europe/Moscow", "America/New_York",
	"America/Chicago", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo",
	"Australia/Sydney"}

// freshSchedule returns the defaults for a new automation. The script fills in the time zone of the browser.
func freshSchedule() page.ScheduleFields {
	return page.ScheduleFields{When: "weekdays", Time: "09:00", Minute: "0", Days: []string{"1"}, Day: "1",
		CatchUp: true, Zones: someZones}
}

// scheduleOf reads the fields of a form.
func scheduleOf(form url.Values) page.ScheduleFields {
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return page.ScheduleFields{When: text("when"), Time: text("time"), Minute: text("minute"), Days: form["days"],
		Day: text("day"), Cron: text("cron"),
		Zone: text("zone"), CatchUp: form.Get("catchup") == "yes", Zones: someZones}
}

// expression converts the fields to a cron expression; "" for manual runs. The error is shown to the user.
func expression(s page.ScheduleFields) (string, error) {
	hour, minute, err := clock(s)
	if err != nil {
		return "", err
	}
	at := func(days string) string { return fmt.Sprintf("%d %d %s", minute, hour, days) }
	switch s.When {
	case "manual":
		return "", nil
	case "hourly":
		return fmt.Sprintf("%d * * * *", minute), nil
	case "daily":
		return at("* * *"), nil
	case "weekdays":
		return at("* * 1-5"), nil
	case "weekly":
		days := slices.DeleteFunc(slices.Clone(s.Days), func(d string) bool {
			return len(d) != 1 || d < "0" ||
				d > "6"
		})
		if len(days) == 0 {
			return "", fmt.Errorf("choose at least one day of the week")
		}
		return at("* * " + strings.Join(days, ",")), nil
	case "monthly":
		day, err := strconv.Atoi(s.Day)
		if err != nil || day < 1 || day > 31 {
			return "", fmt.Errorf("choose a day of the month, from 1 to 31")
		}
		return at(strconv.Itoa(day) + " * *"), nil
	case "cron":
		if s.Cron == "" {
			return "", fmt.Errorf("write a cron expression, like 30 9 * * MON-FRI")
		}
		return s.Cron, nil
	}
	return "", fmt.Errorf("choose when it runs")
}

// clock reads the time of day, or the minute of an hourly schedule.
func clock(s page.ScheduleFields) (hour, minute int, err error) {
	switch s.When {
	case "hourly":
		minute, err = strconv.Atoi(s.Minute)
		if err != nil || minute < 0 || minute > 59 {
			return 0, 0, fmt.Errorf("choose a minute of the hour, from 0 to 59")
		}
	case "daily", "weekdays", "weekly", "monthly":
		t, err := time.Parse("15:04", s.Time)
		if err != nil {
			return 0, 0, fmt.Errorf("choose a time of day, like 09:30")
		}
		return t.Hour(), t.Minute(), nil
	}
	return 0, minute, nil
}

// fieldsOf shows a schedule in the form: as a preset if it matches one, otherwise as cron.
func fieldsOf(t *ahp.AutomationScheduleTrigger) page.ScheduleFields {
	s := freshSchedule()
	s.Zone, s.CatchUp = t.Schedule.TimeZone, t.MisfirePolicy != ahp.AutomationMisfirePolicySkip
	s.When, s.Cron = "cron", t.Schedule.Expression
	f := strings.Fields(t.Schedule.Expression)
	if len(f) != 5 || f[3] != "*" {
		return s
	}
	minute, err := strconv.Atoi(f[0])
	hour, hourErr := strconv.Atoi(f[1])
	if err != nil {
		return s
	}
	days := strings.ToUpper(f[2] + " " + f[4])
	if f[1] == "*" && days == "* *" {
		s.When, s.Minute = "hourly", f[0]
		return s
	}
	if hourErr != nil {
		return s
	}
	s.Time = fmt.Sprintf("%02d:%02d", hour, minute)
	switch {
	case days == "* *":
		s.When = "daily"
	case days == "* 1-5" || days == "* MON-FRI":
		s.When = "weekdays"
	case f[2] == "*" && strings.Trim(f[4], "0123456,") == "":
		s.When, s.Days = "weekly", strings.Split(f[4], ",")
	case f[4] == "*" && strings.Trim(f[2], "0123456789") == "":
		s.When, s.Day = "monthly", f[2]
	}
	return s
}

// preview describes the schedule, or what is wrong with it.
func (p *Pages) preview(c core.Caller, s page.ScheduleFields) page.SchedulePreview {
	text, err := expression(s)
	if err != nil {
		return page.SchedulePreview{Problem: site.Sentence(err.Error())}
	}
	if text == "" {
		return page.SchedulePreview{}
	}
	parsed, err := automation.Parse(ahp.AutomationSchedule{Expression: text, TimeZone: s.Zone})
	if err != nil {
		return page.SchedulePreview{Problem: site.Sentence(err.Error())}
	}
	if err := automation.Often(parsed, p.shortest(c)); err != nil {
		return page.SchedulePreview{Problem: site.Sentence(err.Error())}
	}
	out := page.SchedulePreview{Words: parsed.Words() + " (" + s.Zone + ")"}
	zone, _ := automation.Zone(s.Zone) // parsed above
	for _, at := range parsed.Upcoming(p.Now(), 3) {
		out.Next = append(out.Next, page.When{At: at, Zone: zone})
	}
	return out
}

// shortest returns the minimal interval between two runs on this host.
func (p *Pages) shortest(c core.Caller) time.Duration {
	caps := p.Automations.Capabilities(c)
	if caps == nil || caps.Schedules == nil {
		return 0
	}
	return time.Duration(site.OrZero(caps.Schedules.MinIntervalMinutes)) * time.Minute
}
