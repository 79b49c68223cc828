package part

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestCardShowsCommandOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		command, says string
		kept          bool
	}{
		"the command":       {"ls -l", "Run `ls -l`", false},
		"nothing else":      {"ls -l", "ls -l", false},
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

// While a command runs, its terminal is open in the chat; afterwards, its output is.
func TestCommandShowsTerminal(t *testing.T) {
	content := func(r *ahp.TerminalCommandResult) []ahp.ToolResultContent {
		return []ahp.ToolResultContent{{Value: &ahp.ToolResultTerminalContent{Resource: "ahp-terminal:/t1",
			Title: "make", IsPty: ahp.Ptr(true), Result: r}}}
	}
	running := Tool{ToolCallBase: ahp.ToolCallBase{ToolCallID: "c"}, Status: ahp.ToolCallStatusRunning,
		Content: content(nil)}
	if html := draw(t, ToolPart(Turn{Base: "/s/1/c/2"}, running)); !strings.Contains(html, " open") ||
		!strings.Contains(html, "/s/1/t/t1/frame") {
		t.Errorf("the running command has no terminal:\n%s", html)
	}
	done := Tool{ToolCallBase: ahp.ToolCallBase{ToolCallID: "c"}, Status: ahp.ToolCallStatusRunning,
		Content: content(&ahp.TerminalCommandResult{Preview: "all is built"})}
	if html := draw(t, ToolPart(Turn{Base: "/s/1/c/2"}, done)); strings.Contains(html, "<iframe") ||
		!strings.Contains(html, "all is built") {
		t.Errorf("the finished command keeps a live terminal:\n%s", html)
	}
}

func TestCardNamesDirectory(t *testing.T) {
	card := func(meta string) string {
		pending := &ahp.ToolCallPendingConfirmationState{}
		if meta != "" {
			pending.Meta = ahp.Meta{"ahphub": []byte(meta)}
		}
		call := Tool{ToolCallBase: ahp.ToolCallBase{ToolCallID: "c"}, Status: ahp.ToolCallStatusPendingConfirmation,
			Pending: pending}
		return draw(t, ApprovalCard(Turn{Base: "/s/1/c/2", Dir: "/project"}, call))
	}
	if html := card(""); !strings.Contains(html, ">/project<") {
		t.Errorf("no directory of the session in\n%s", html)
	}
	if html := card(`{"directory":"/project/sub"}`); !strings.Contains(html, ">/project/sub<") ||
		strings.Contains(html, ">/project<") {
		t.Errorf("not the command's own directory in\n%s", html)
	}
}

func TestStoppedCallIsNotCalledSkipped(t *testing.T) {
	call := &ahp.ToolCallCancelledState{Reason: ahp.ToolCallCancellationReasonSkipped}
	if got := ToolOf(ahp.ToolCallState{Value: call}).status().Word; got != "Stopped" {
		t.Errorf("a call that ended with its turn is called %q", got)
	}
	call.ReasonMessage = ahp.Ptr(ahp.Plain("ahphub restarted before this was answered."))
	if got := ToolOf(ahp.ToolCallState{Value: call}).status().Word; got != "Not run" {
		t.Errorf("a call that a restart ended before its approval is called %q", got)
	}
}
