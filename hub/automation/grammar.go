package automation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is one of the five fields of an expression: its name, its minimum and maximum, and the
// names for values from the minimum on.
type field struct {
	word      string
	low, high int
	names     []string
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{"day of the week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

// plain parses an expression by the grammar of the protocol, which is stricter than that of cron
// libraries: five fields of *, values, ranges and lists, with steps on * and ranges
// (guide/automations.md). It returns the expression with numbers only, because libraries also
// differ in the names they know.
func plain(expression string) (string, error) {
	if len(expression) > mostExpression {
		return "", fmt.Errorf("this schedule is too long: at most %d characters", mostExpression)
	}
	if strings.HasPrefix(expression, "@") {
		return "", fmt.Errorf("%s is a macro, which not every host knows: write five fields, like 0 9 * * *",
			expression)
	}
	parts := strings.Fields(expression)
	if len(parts) != len(fields) {
		return "", fmt.Errorf("a schedule has five fields, not %d: minute, hour, day of the month, month, day of the "+
			"week, like 30 9 * * MON-FRI", len(parts))
	}
	for i, f := range fields {
		items := strings.Split(parts[i], ",")
		for j, item := range items {
			var err error
			if items[j], err = f.plain(item); err != nil {
				return "", err
			}
		}
		parts[i] = strings.Join(items, ",")
	}
	return strings.Join(parts, " "), nil
}

// plain parses one item of a field's list.
func (f field) plain(item string) (string, error) {
	of, by, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		var err error
		if step, err = digits(by); err != nil || step < 1 {
			return "", fmt.Errorf("%s: %q needs a whole number above 0 behind the slash", f.word, item)
		}
	}
	if of == "*" && step == 1 {
		return "*", nil
	}
	low, high, err := f.span(item, of, stepped)
	switch {
	case err != nil:
		return "", err
	case low == high || step > high-low: // only the first value; the library refuses such a step
		return strconv.Itoa(low), nil
	case of == "*":
		return "*/" + strconv.Itoa(step), nil
	}
	return fmt.Sprintf("%d-%d/%d", low, high, step), nil
}

// span returns the first and last value of an item.
func (f field) span(item, of string, stepped bool) (low, high int, err error) {
	if of == "*" {
		return f.low, f.high, nil
	}
	from, to, ranged := strings.Cut(of, "-")
	if stepped && !ranged {
		return 0, 0, fmt.Errorf("%s: %q steps from a single value: write * or a range before the slash", f.word, item)
	}
	if low, err = f.value(from); err != nil || !ranged {
		return low, low, err
	}
	if high, err = f.value(to); err != nil {
		return 0, 0, err
	}
	if low > high {
		return 0, 0, fmt.Errorf("%s: the range %q is reversed. Write the smaller number first, or a list", f.word, of)
	}
	return low, high, nil
}

func (f field) value(s string) (int, error) {
	if i := slices.Index(f.names, strings.ToUpper(s)); i >= 0 {
		return i + f.low, nil
	}
	n, err := digits(s)
	if err != nil || n < f.low || n > f.high {
		return 0, fmt.Errorf("%s: %q is not between %d and %d", f.word, s, f.low, f.high)
	}
	return n, nil
}

// digits parses a number like strconv.Atoi, but without signs.
func digits(s string) (int, error) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}
