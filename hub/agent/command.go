package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// previewBytes is how much of a command's output is kept in its result.
const previewBytes = 4 << 10

// Command is a command line, or a script of several lines.
type Command struct {
	Text    string
	Unasked bool                         // needs no approval, because the agent itself composed it
	Dir     string                       // absolute; "" is the session's first directory
	Env     []string                     // KEY=value, in addition to the host's
	Program func(script string) []string // the argv that runs the script; nil is ShellCommand

	Background bool            // the turn does not wait for it
	Move       <-chan struct{} // once closed, the turn stops waiting; nil: never
}

// CommandTool is the name of the tool whose calls RunCommand plays.
const CommandTool = "shell"

// HostRun is a Backend that reports whether all its commands go through RunCommand, so that the
// host runs them.
type HostRun interface{ HostRuns() bool }

// ErrDetached ends the wait for a command that moved to the background.
var ErrDetached = errors.New("the command continues in the background")

// Ended is the result of a command tool call.
type Ended struct {
	Ran      bool // false: it was denied, or could not be started
	Denied   bool
	Goes     bool // the command continues in the background
	ExitCode int
}

// RunCommand plays the tool call of one shell command: readiness, approval (which may edit the
// command), a run in a terminal of its own, and completion with the exit code and the end of the
// output. The error is the turn's: the context's when it was cancelled, in which case the command
// was killed.
func RunCommand(ctx context.Context, s Spec, t Turn, command Command) (Ended, error) {
	c := call{spec: s, turn: t, id: ids.New(), how: command, command: command.Text}
	answer, err := c.ask(ctx)
	if err != nil {
		return Ended{}, err
	}
	if !answer.Approved {
		return Ended{Denied: true}, nil
	}
	if answer.EditedToolInput != "" {
		c.command = answer.EditedToolInput
	}
	c.outside = answer.SelectedOptionID == OptionOutside
	return c.run(ctx)
}

// call is one command tool call in progress.
type call struct {
	spec    Spec
	turn    Turn
	id      string
	how     Command
	command string // the command to run: the text, or its edit in the approval
	outside bool   // of the session's sandbox
}

func (c *call) ask(ctx context.Context) (*ahp.ChatToolCallConfirmedAction, error) {
	err := c.turn.Out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: c.id, ToolName: CommandTool,
		DisplayName: "Run command"})
	if err != nil {
		return nil, err
	}
	ready := &ahp.ChatToolCallReadyAction{
		ToolCallID:        c.id,
		InvocationMessage: ahp.Markdown("Run " + Code(c.command)),
		ToolInput:         &ahp.ToolInput{Text: c.command},
	}
	if c.how.Dir != "" {
		ready.Meta = DirectoryMeta(c.how.Dir)
	}
	if c.how.Unasked {
		ready.Confirmed = ahp.ToolCallConfirmationReasonNotNeeded
	} else {
		ready.ConfirmationTitle = ahp.Ptr(ahp.Plain("Run this command?"))
		ready.Editable, ready.Options = ahp.Ptr(true), Options()
	}
	return c.turn.Out.Confirm(ctx, ready)
}

func (c *call) run(ctx context.Context) (Ended, error) {
	if c.outside { // variables from commands in the sandbox must not take effect outside
		c.how.Env, c.how.Program = nil, nil
	}
	term, err := c.spec.Host.Terminal(ctx, TerminalSpec{
		Chat:       c.turn.Chat,
		TurnID:     c.turn.ID,
		ToolCallID: c.id,
		Title:      title(c.command),
		Dir:        cmp.Or(c.how.Dir, firstOf(c.spec.Dirs)),
		Command:    c.program()(c.command),
		Env:        c.how.Env,
		Unconfined: c.outside,
	})
	if err != nil {
		return Ended{}, c.notStarted(ctx, err)
	}
	content := &ahp.ToolResultTerminalContent{Resource: term.URI(), Title: title(c.command), IsPty: ahp.Ptr(true)}
	if err := c.turn.Out.Emit(&ahp.ChatToolCallContentChangedAction{ToolCallID: c.id,
		Content: Results(content)}); err != nil {
		term.Kill()
		return Ended{}, err
	}
	code, tail, err := c.wait(ctx, term)
	switch {
	case errors.Is(err, ErrDetached):
		return c.leave(ctx, term, content)
	case err != nil:
		term.Kill()
		return Ended{}, err
	}
	return Ended{Ran: true, ExitCode: code}, c.complete(content, code, tail)
}

// wait waits for the command's end, unless it moves to the background.
func (c *call) wait(ctx context.Context, term Terminal) (int, string, error) {
	if c.how.Background {
		return 0, "", ErrDetached
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		select {
		case <-c.how.Move:
			cancel(ErrDetached)
		case <-ctx.Done():
		}
	})
	return term.Wait(ctx)
}

// leave completes the call while its command continues.
func (c *call) leave(ctx context.Context, term Terminal, content *ahp.ToolResultTerminalContent) (Ended, error) {
	work := BackgroundSpec{Chat: c.turn.Chat, Label: title(c.command), Command: c.command, Terminal: term}
	if err := c.spec.Host.Background(ctx, work); err != nil {
		term.Kill()
		return Ended{}, err
	}
	return Ended{Ran: true, Goes: true},
		c.turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: c.id, Result: ahp.ToolCallResult{
			Success:          true,
			PastTenseMessage: ahp.Markdown(Code(c.command) + " continues in the background"),
			Content:          Results(content),
		}})
}

func (c *call) program() func(string) []string {
	if c.how.Program == nil {
		return ShellCommand
	}
	return c.how.Program
}

func (c *call) complete(content *ahp.ToolResultTerminalContent, code int, tail string) error {
	preview, cut := end(tail, previewBytes)
	done := *content
	done.Result = &ahp.TerminalCommandResult{ExitCode: ahp.Ptr(int64(code)), Preview: preview, Truncated: &cut}
	past := "Ran " + Code(c.command)
	if code != 0 {
		past = fmt.Sprintf("%s exited with %d", Code(c.command), code)
	}
	return c.turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: c.id, Result: ahp.ToolCallResult{
		Success:          code == 0,
		PastTenseMessage: ahp.Markdown(past),
		Content:          Results(&done),
	}})
}

func (c *call) notStarted(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: c.id, Result: ahp.ToolCallResult{
		PastTenseMessage: ahp.Markdown("Could not run " + Code(c.command)),
		Error:            &ahp.ToolCallError{Message: cause.Error()},
	}})
}

// ShellCommand returns the argv that runs a command line or a script of several lines.
func ShellCommand(script string) []string {
	sh := "bash"
	if _, err := exec.LookPath(sh); err != nil {
		sh = "sh"
	}
	return []string{sh, "-c", script}
}

// DirectoryMeta returns the `_meta` of a readiness that names the command's directory, if that is
// not the session's.
func DirectoryMeta(dir string) ahp.Meta {
	raw, err := json.Marshal(map[string]string{"directory": dir})
	if err != nil {
		return nil // a string always encodes
	}
	return ahp.Meta{"ahphub": raw}
}

// Results wraps the contents of a tool's result.
func Results(vs ...ahp.ToolResultContentValue) []ahp.ToolResultContent {
	out := make([]ahp.ToolResultContent, len(vs))
	for i, v := range vs {
		out[i] = ahp.ToolResultContent{Value: v}
	}
	return out
}

// title returns a command's first line, shortened for a tab.
func title(command string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	return texts.ElideRunes(line, 60)
}

func firstOf(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// end returns the last n bytes of s, from the start of a line if possible.
func end(s string, n int) (tail string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < n/2 {
		s = s[i+1:]
	}
	return strings.ToValidUTF8(s, ""), true
}
