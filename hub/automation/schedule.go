package automation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a static binary runs where no time zones are installed

	"github.com/netresearch/go-cron"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostExpression = 200
	searchYears    = 12 // 29 February may be eight years away
)

var parser = cron.MustNewParser(
	cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom).WithMaxSearchYears(searchYears)

// Schedule is a cron expression in a time zone.
type Schedule struct {
	numbers    string // the expression without names
	expression string // as entered
	fields     cron.SpecSchedule
	zone       *time.Location
}

// Parse parses a schedule of the protocol. Its errors say what to write instead.
func Parse(s ahp.AutomationSchedule) (Schedule, error) {
	numbers, err := plain(s.Expression)
	if err != nil {
		return Schedule{}, err
	}
	parsed, err := parser.Parse(numbers)
	if err != nil {
		return Schedule{}, fmt.Errorf("this schedule cannot be read: %w", err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, errors.New("this schedule cannot be read: write five fields, like 0 9 * * *")
	}
	zone, err := Zone(s.TimeZone)
	if err != nil {
		return Schedule{}, err
	}
	out := Schedule{numbers, texts.OneLine(s.Expression), *spec, zone}
	if out.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, errors.New("this schedule never comes: no month it names has such a day")
	}
	return out, nil
}

// Zone loads an IANA time zone.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("a schedule needs a time zone, like UTC or Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %.80q: write one like UTC or Europe/Berlin", name)
	}
	return zone, nil
}

// Next returns the first occurrence after a given time; the zero time for none.
//
// A local minute skipped by a clock change has no occurrence; one that repeats has two
// (guide/automations.md). Cron libraries differ in this, so the library only computes within one
// period of the zone at a time, in which the clock is monotonic.
func (s Schedule) Next(after time.Time) time.Time {
	for limit := after.AddDate(searchYears, 0, 0); after.Before(limit); {
		local := after.Add(time.Nanosecond).In(s.zone)
		_, end := local.ZoneBounds()
		name, offset := local.Zone()
		here := s.fields
		here.Location = time.FixedZone(name, offset)
		next := here.Next(after)
		if next.IsZero() {
			return time.Time{} // in no period: the fields never match
		}
		if end.IsZero() || next.Before(end) {
			return next.In(s.zone)
		}
		after = end.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// Upcoming returns the next n occurrences.
func (s Schedule) Upcoming(after time.Time, n int) []time.Time {
	var out []time.Time
	for range n {
		if after = s.Next(after); after.IsZero() {
			break
		}
		out = append(out, after)
	}
	return out
}

// Shortest returns the minimum time between two occurrences, ignoring clock changes.
func (s Schedule) Shortest() time.Duration {
	var minutes []int // minutes of the day with an occurrence
	for m := range 24 * 60 {
		if has(s.fields.Hour, m/60) && has(s.fields.Minute, m%60) {
			minutes = append(minutes, m)
		}
	}
	shortest := 24 * 60
	for i := 1; i < len(minutes); i++ {
		shortest = min(shortest, minutes[i]-minutes[i-1])
	}
	if night := minutes[0] + 24*60 - minutes[len(minutes)-1]; night < shortest && s.daysInARow() {
		shortest = night
	}
	return time.Duration(shortest) * time.Minute
}

// daysInARow reports whether occurrences can be on two consecutive days. The calendar repeats after
// 28 years.
func (s Schedule) daysInARow() bool {
	before := false
	for day := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2029; day = day.AddDate(0, 0, 1) {
		on := s.on(day)
		if on && before {
			return true
		}
		before = on
	}
	return false
}

func (s Schedule) on(day time.Time) bool {
	if !has(s.fields.Month, int(day.Month())) {
		return false
	}
	dom, dow := has(s.fields.Dom, day.Day()), has(s.fields.Dow, int(day.Weekday()))
	if s.restricts(2) && s.restricts(4) { // Unix cron: either one matches
		return dom || dow
	}
	return dom && dow
}

// restricts reports whether a field is not *.
func (s Schedule) restricts(i int) bool { return strings.Fields(s.numbers)[i] != "*" }

func has(bits uint64, n int) bool { return bits&(1<<n) != 0 }

// values returns the values of a field's bits between two numbers.
func values(bits uint64, low, high int) (out []int) {
	for n := low; n <= high; n++ {
		if has(bits, n) {
			out = append(out, n)
		}
	}
	return out
}

// earliest returns the earliest non-zero time.
func earliest(list ...time.Time) (first time.Time) {
	list = slices.DeleteFunc(list, time.Time.IsZero)
	if len(list) == 0 {
		return first
	}
	return slices.MinFunc(list, time.Time.Compare)
}
