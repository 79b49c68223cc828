package acp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/ahphub/ahphub/hub/texts"
)

const mostQuoted = 3 // lines of a program's output in an error

var (
	escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\-_])")
	// frames matches lines that only a developer of the program reads: stack frames, the marks below
	// quoted source, and what runtimes append to them.
	frames = regexp.MustCompile(`^(at |File "|goroutine \d|\[signal |created by |main\.|runtime\.|Node\.js v|node:internal|` +
		`Traceback |note: run with |stack backtrace:|\d+: 0x|exit status \d)|^[\^~\s{}\[\]();,]*$|` +
		`^\S+\.(go|rs|[cm]?[jt]s|py):\d+( \+0x[0-9a-f]+)?(:\d+)?$|^\S+\(.*0x[0-9a-f]+.*\)$`)
	failures = regexp.MustCompile(`(?i)\b(\w*error|\w*exception|panic\w*|fatal|abort\w*|failed|failure|cannot|can't|` +
		`could not|unable|denied|not found|no such|unauthori[sz]ed|forbidden|invalid|missing|killed|out of memory)\b`)
)

// readableLines returns the lines of a program's output that say why it failed: those from the last
// that names a failure, else its end.
func readableLines(output string) []string {
	var lines []string
	last := -1
	for line := range strings.Lines(escapes.ReplaceAllString(output, "")) {
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
		line = strings.TrimSpace(line)
		if line == "" || frames.MatchString(line) {
			continue
		}
		if failures.MatchString(line) && (!indented || last < 0) {
			last = len(lines)
		}
		lines = append(lines, messageOf(line))
	}
	if last < 0 {
		return lines[max(0, len(lines)-mostQuoted):]
	}
	return lines[last:min(len(lines), last+mostQuoted)]
}

// cleanLines returns all lines that people can read.
func cleanLines(output string) (lines []string) {
	for line := range strings.Lines(escapes.ReplaceAllString(output, "")) {
		line = strings.TrimSpace(line)
		if line != "" && !frames.MatchString(line) {
			lines = append(lines, boundLine(messageOf(line)))
		}
	}
	return lines
}

// messageOf returns the message of a line of a structured log.
func messageOf(line string) string {
	var entry struct{ Msg, Message, Error string }
	if line[0] != '{' || json.Unmarshal([]byte(line), &entry) != nil {
		return line
	}
	for _, text := range []string{entry.Msg, entry.Message, entry.Error} {
		if text != "" {
			return texts.OneLine(text)
		}
	}
	return line
}
