package automation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

func schedule(t testing.TB, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(ahp.AutomationSchedule{Expression: expression, TimeZone: zone})
	if err != nil {
		t.Fatalf("%s in %s: %v", expression, zone, err)
	}
	return s
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ expression, zone, after, want string }{
		{"30 9 * * MON-FRI", "UTC", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z"},
		{"30 9 * * mon-fri", "Europe/Berlin", "2026-11-20T00:00:00Z", "2026-11-20T08:30:00Z"},
		{"*/15 * * * *", "UTC", "2026-11-20T10:14:59Z", "2026-11-20T10:15:00Z"},
		{"0 0 1,15 * *", "UTC", "2026-11-20T00:00:00Z", "2026-12-01T00:00:00Z"},
		{"0 0 13 * FRI", "UTC", "2026-11-08T00:00:00Z", "2026-11-13T00:00:00Z"}, // either matches
		{"0 0 13 * FRI", "UTC", "2026-11-14T00:00:00Z", "2026-11-20T00:00:00Z"},
		{"0 0 * * 7", "UTC", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"0 0 * * 0", "UTC", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"0 12 29 2 *", "UTC", "2097-01-01T00:00:00Z", "2104-02-29T12:00:00Z"}, // eight years: 2100 is not a leap year
		{"0 9 * JAN THU", "UTC", "2026-11-20T00:00:00Z", "2027-01-07T09:00:00Z"},
		{"5-20/90 * * * *", "UTC", "2026-11-20T10:06:00Z", "2026-11-20T11:05:00Z"},
		// A skipped minute has no occurrence, a repeated one has two.
		{"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", "2027-03-29T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		// midnight itself was skipped
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-04T14:45:00Z"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"}, // half an hour back
	} {
		got := schedule(t, c.expression, c.zone).Next(at(t, c.after))
		if want := at(t, c.want); !got.Equal(want) {
			t.Errorf("%s in %s after %s: %s, want %s", c.expression, c.zone, c.after, got.UTC().Format(time.RFC3339),
				c.want)
		}
	}
}

func TestRefusedSchedules(t *testing.T) {
	for expression, says := range map[string]string{
		"@daily": "macro", "0 9 * *": "five fields", "0 0 9 * * *": "five fields", "60 * * * *": "between 0 and 59",
		"0 24 * * *": "between 0 and 23", "0 9 0 * *": "between 1 and 31", "0 9 * 13 *": "between 1 and 12",
		"0 9 * * 8": "between 0 and 7", "5/15 * * * *": "single value", "*/0 * * * *": "above 0",
		"*/-5 * * * *": "above 0", "*/ * * * *": "above 0", "0 22-2 * * *": "reversed", "0 9 L * *": "between",
		"0 9 ? * *": "between", "0 9 * * MON#2": "between", "0 9 15W * *": "between", "H 9 * * *": "between",
		"0 9 31 2 *": "never comes", "0 9 1,,2 * *": "between", "1-2-3 * * * *": "between", "+1 * * * *": "between",
		"0 9 " + strings.Repeat("1,", 200) + "1 * *": "too long", "": "five fields", "0 9 * * MONDAY": "between",
	} {
		_, err := Parse(ahp.AutomationSchedule{Expression: expression, TimeZone: "UTC"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want it to say %q", expression, err, says)
		}
	}
	for _, zone := range []string{"", "Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := Parse(ahp.AutomationSchedule{Expression: "0 9 * * *", TimeZone: zone}); err == nil ||
			!strings.Contains(err.Error(), "time zone") {
			t.Errorf("zone %q: %v", zone, err)
		}
	}
}

// reads evaluates the grammar for one minute, independently of the bits.
func reads(expression string, local time.Time) bool {
	f := strings.Fields(expression)
	one := func(i, n int) bool {
		return slices.ContainsFunc(strings.Split(f[i], ","), func(item string) bool {
			of, by, _ := strings.Cut(item, "/")
			step, _ := digits("0" + by)
			low, high := fields[i].low, fields[i].high
			if of != "*" {
				from, to, ranged := strings.Cut(of, "-")
				low, _ = fields[i].value(from)
				if high = low; ranged {
					high, _ = fields[i].value(to)
				}
			}
			return n >= low && n <= high && (n-low)%max(step, 1) == 0
		})
	}
	day := one(2, local.Day())
	week := one(4, int(local.Weekday())) || local.Weekday() == time.Sunday && one(4, 7)
	days := day && week
	if f[2] != "*" && f[4] != "*" {
		days = day || week
	}
	return one(0, local.Minute()) && one(1, local.Hour()) && one(3, int(local.Month())) && days
}

// For every minute of weeks with clock changes, Next finds exactly the minutes that the grammar
// allows.
func TestNextAgainstEveryMinute(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	begins := map[string][]string{
		"UTC":                 {"2026-12-28T00:00:00Z"},
		"Europe/Berlin":       {"2027-03-26T00:00:00Z", "2026-10-23T00:00:00Z"},
		"America/New_York":    {"2026-03-06T00:00:00Z", "2026-10-30T00:00:00Z"},
		"Australia/Lord_Howe": {"2026-04-03T00:00:00Z", "2026-10-02T00:00:00Z"},
		"Antarctica/Troll":    {"2027-03-26T00:00:00Z", "2026-10-23T00:00:00Z"}, // two hours
		"Pacific/Apia":        {"2011-12-28T00:00:00Z"},                         // a whole day was skipped
	}
	for range 40 {
		expression := strings.Join([]string{pick("0", "30", "*/15", "5,50", "*", "10-40/10"), pick("*", "0", "2", "1-3",
			"*/2", "23", "0,2"),
			pick("*", "*", "1-31/2", "28"), pick("*", "*", "*/1"), pick("*", "*", "SUN", "1-5", "7", "*/3")}, " ")
		for zone, starts := range begins {
			s := schedule(t, expression, zone)
			for _, start := range starts {
				from := at(t, start)
				to := from.AddDate(0, 0, 5)
				var want, got []string
				for m := from; m.Before(to); m = m.Add(time.Minute) {
					if reads(expression, m.In(s.zone)) {
						want = append(want, m.Format(time.RFC3339))
					}
				}
				for m := s.Next(from.Add(-time.Second)); !m.IsZero() && m.Before(to); m = s.Next(m) {
					got = append(got, m.UTC().Format(time.RFC3339))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s in %s from %s:\ngot  %v\nwant %v", expression, zone, start, got, want)
				}
			}
		}
	}
}

func TestShortest(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "*/5 * * * *": 5 * time.Minute, "0 * * * *": time.Hour,
		"0,3 9 * * *": 3 * time.Minute,
		"0 9 * * *":   24 * time.Hour, "0,59 0,23 * * *": time.Minute, "0,59 0,23 1 * *": 59 * time.Minute,
		"0,59 0,23 30,2 * *": 59 * time.Minute, "0,59 0,23 1,31 * *": time.Minute,
	} {
		if got := schedule(t, expression, "UTC").Shortest(); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for expression, want := range map[string]string{
		"30 9 * * *": "Every day at 09:30", "30 9 * * MON-FRI": "Every weekday at 09:30",
		"0 0 1,15 * *": "Every month on the 1st and 15th at 00:00",
		"*/15 * * * *": "Every 15 minutes", "0 * * * *": "Every hour", "5 * * * *": "Every hour, 5 past",
		"0 */6 * * *": "Every day at 00:00, 06:00, 12:00 and 18:00", "0 */2 * * *": "Every 2 hours, 0 past",
		"0 9 * * SUN": "Every Sunday at 09:00", "0 9 * * SAT,SUN": "Every weekend at 09:00",
		"0 9,17 * * 1,3": "Every Monday and Wednesday at 09:00 and 17:00", "0 9 13 * FRI": "0 9 13 * FRI",
		"0 9 * 1 *": "0 9 * 1 *", "0 9 22,23,31 * *": "Every month on the 22nd, 23rd and 31st at 09:00",
		"10,40 * * * *": "Every hour at :10 and :40",
	} {
		if got := schedule(t, expression, "UTC").Words(); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"30 9 * * MON-FRI", "*/15 * * * *", "0 0 29 2 *", "@daily", "* * * * * *",
		"1-5/2,7 0 1 JAN 0-7"} {
		f.Add(s)
	}
	after := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := Parse(ahp.AutomationSchedule{Expression: expression, TimeZone: "Europe/Berlin"})
		if err != nil {
			return
		}
		next := s.Next(after)
		if next.IsZero() || !next.After(after) || !reads(expression, next) {
			t.Errorf("%q comes next at %s", expression, next)
		}
		if s.Words() == "" || s.Shortest() < time.Minute {
			t.Errorf("%q has words %q and comes each %s", expression, s.Words(), s.Shortest())
		}
	})
}
