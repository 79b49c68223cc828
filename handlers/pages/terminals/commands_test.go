package terminals

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

func TestACommandIsQuoted(t *testing.T) {
	long := strings.Repeat("é23456789\n", 4000)
	for _, c := range []struct {
		name, line, output string
		exit               *int64
		want               string
	}{
		{"plain", "ls", "a\nb", ahp.Ptr(int64(0)), "```console\n$ ls\na\nb\n```\n"},
		{"failed", "false", "", ahp.Ptr(int64(1)), "```console\n$ false\n\n[exit 1]\n```\n"},
		{"fences within", "cat x.md", "```go\n````", nil, "`````console\n$ cat x.md\n```go\n````\n`````\n"},
	} {
		if got := quoteCommand(machine.TerminalCommand{Line: c.line, ExitCode: c.exit}, c.output); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	got := quoteCommand(machine.TerminalCommand{Line: "seq"}, long)
	if len(got) > mostQuoted+100 || !strings.Contains(got, "$ seq\n…\né23456789\n") ||
		!strings.HasSuffix(got, "é23456789\n\n```\n") {
		t.Errorf("a long output is not cut to its end: %d bytes, %.60q", len(got), got)
	}
}

func TestOutputIsTrimmed(t *testing.T) {
	for _, c := range []struct {
		text string
		cut  bool
		want string
	}{{"\r\n  a \r\n\r\n", false, "  a"}, {"a\n", true, "…\na"}, {"", false, ""}} {
		if got := plainOutput(c.text, c.cut); got != c.want {
			t.Errorf("%q is %q, not %q", c.text, got, c.want)
		}
	}
}
