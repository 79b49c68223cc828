package part

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestACardSaysACommandOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		command, says string
		kept          bool
	}{
		"the command":       {"ls -l", "Run `ls -l`", false},
		"its first line":    {"cd x\nls", "Run `cd x …`", false},
		"with ticks":        {"echo `date`", "Run `` echo `date` ``", false},
		"a description":     {"ls -l", "Look what is there", true},
		"another command":   {"rm -rf x", "Run `ls -l`", true},
		"more words":        {"ls", "To find the file, run `ls`", true},
		"no command at all": {"", "Edit `README.md`", true},
	} {
		call := Tool{Invocation: ahp.Markdown(tc.says)}
		if tc.command != "" {
			call.Input = &ahp.ToolInput{Text: tc.command}
		}
		if got := call.invocation().Text != ""; got != tc.kept {
			t.Errorf("%s: shown: %v", name, got)
		}
	}
}
