package automation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Words describes a schedule in words, or returns its expression for uncommon ones. It omits the
// time zone.
func (s Schedule) Words() string {
	parts := strings.Fields(s.numbers)
	days := s.days(parts[2:])
	minutes, hours := values(s.fields.Minute, 0, 59), values(s.fields.Hour, 0, 23)
	switch {
	case days == "":
		return s.expression
	case len(minutes) == 1 && len(hours) == 1:
		return fmt.Sprintf("%s at %02d:%02d", days, hours[0], minutes[0])
	case len(minutes) == 1 && len(hours) <= 4:
		return days + " at " + times(hours, minutes[0])
	case parts[1] == "*" && days == everyDay:
		return everyHour(minutes, parts[0])
	case len(minutes) == 1 && even(hours, 24) && days == everyDay && parts[1] != "*":
		return fmt.Sprintf("Every %d hours, %d past", hours[1]-hours[0], minutes[0])
	}
	return s.expression
}

const everyDay = "Every day"

// days describes the last three fields; "" for uncommon ones.
func (s Schedule) days(parts []string) string {
	dow := values(s.fields.Dow&^(1<<7), 0, 6)
	switch {
	case parts[1] != "*", parts[0] != "*" && parts[2] != "*":
		return ""
	case parts[0] != "*":
		dom := values(s.fields.Dom, 1, 31)
		if len(dom) > 4 {
			return ""
		}
		return "Every month on the " + join(dom, ordinal)
	case slices.Equal(dow, []int{0, 1, 2, 3, 4, 5, 6}):
		return everyDay
	case slices.Equal(dow, []int{1, 2, 3, 4, 5}):
		return "Every weekday"
	case slices.Equal(dow, []int{0, 6}):
		return "Every weekend"
	}
	return "Every " + join(dow, func(d int) string { return time.Weekday(d).String() })
}

func everyHour(minutes []int, as string) string {
	switch {
	case len(minutes) == 60:
		return "Every minute"
	case len(minutes) == 1 && minutes[0] == 0:
		return "Every hour"
	case len(minutes) == 1:
		return fmt.Sprintf("Every hour, %d past", minutes[0])
	case even(minutes, 60) && minutes[0] == 0:
		return fmt.Sprintf("Every %d minutes", minutes[1])
	case len(minutes) <= 4:
		return "Every hour at " + join(minutes, func(m int) string { return fmt.Sprintf(":%02d", m) })
	}
	return "Every hour at minute " + as
}

// even reports whether values are evenly spaced in a cycle of n.
func even(list []int, n int) bool {
	return len(list) > 1 && len(list) < n && n%len(list) == 0 && func() bool {
		for i := 1; i < len(list); i++ {
			if list[i]-list[i-1] != n/len(list) {
				return false
			}
		}
		return true
	}()
}

func times(hours []int, minute int) string {
	return join(hours, func(h int) string { return fmt.Sprintf("%02d:%02d", h, minute) })
}

func join(list []int, word func(int) string) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = word(n)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return strconv.Itoa(n) + "st"
	case n%10 == 2:
		return strconv.Itoa(n) + "nd"
	case n%10 == 3:
		return strconv.Itoa(n) + "rd"
	}
	return strconv.Itoa(n) + "th"
}
