package machine

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Internal marks of PlainText for erasing in a line: control characters without a meaning in output.
const (
	eraseRest = '\x01'
	eraseLine = '\x02'
)

var erasing = strings.NewReplacer("\x01", "", "\x02", "",
	"\x1b[K", string(eraseRest), "\x1b[0K", string(eraseRest), "\x1b[2K", string(eraseLine))

// PlainText returns terminal output as text to read or copy: without escape sequences, and with overwritten text
// replaced.
func PlainText(raw string) string {
	lines := strings.Split(ansi.Strip(erasing.Replace(raw)), "\n")
	for i, line := range lines {
		lines[i] = overwrite(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// overwrite applies the carriage returns, backspaces and erasing of a line.
func overwrite(line string) string {
	if strings.IndexFunc(line, unicode.IsControl) < 0 {
		return line
	}
	var cells []rune
	at := 0
	for _, r := range line {
		switch {
		case r == '\r':
			at = 0
		case r == '\b':
			at = max(0, at-1)
		case r == eraseRest:
			cells = cells[:min(at, len(cells))]
		case r == eraseLine:
			cells = cells[:0]
		case unicode.IsControl(r) && r != '\t':
		default:
			for len(cells) <= at {
				cells = append(cells, ' ')
			}
			cells[at] = r
			at++
		}
	}
	return strings.TrimRight(string(cells), " ")
}
