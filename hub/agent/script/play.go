package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// idNames matches placeholders for ids in an action: "$tool".
var idNames = regexp.MustCompile(`"\$([a-zA-Z][a-zA-Z0-9]*)"`)

// player plays the steps of one turn.
type player struct {
	spec  agent.Spec
	turn  agent.Turn
	moves *agent.Moves
}

func (p player) step(ctx context.Context, s Step) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	switch {
	case s.Say != "":
		return p.text(ctx, agent.Markdown, pieces(s.Say, s.Chunk), s.Every)
	case s.Think != "":
		return p.text(ctx, agent.Reasoning, pieces(s.Think, s.Chunk), s.Every)
	case s.Todo != "":
		return agent.EmitPlan(p.turn.Out, planSteps(s.Todo))
	case s.Notice != "":
		return p.turn.Out.Emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{
			Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(s.Notice)}}})
	case s.Count > 0:
		return p.text(ctx, agent.Markdown, numbers(s.Count), s.Every)
	case s.Clock > 0:
		return p.text(ctx, agent.Markdown, clock(s.Clock), s.Every)
	case s.Burst > 0:
		return p.text(ctx, agent.Markdown, burst(s.Burst, s.Bytes), s.Every)
	case s.Run != "":
		return p.run(ctx, agent.Command{Text: s.Run, Unasked: s.Unasked})
	case s.Edit != "":
		return p.edit(ctx, s)
	case s.Ask != "":
		return p.ask(ctx, s.Ask)
	case s.Call != "":
		return p.call(ctx, s)
	case s.Spawn != "":
		return p.spawn(ctx, s)
	case s.Action != "":
		return p.action(s.Action)
	case s.Wait > 0:
		return pause(ctx, s.Wait)
	case s.Hold:
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return &agent.Failure{Message: s.Fail, Resumable: !s.Final}
}

func pause(ctx context.Context, d Millis) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// text streams pieces into one part.
func (p player) text(ctx context.Context, begin func(agent.Out) (*agent.Part, error), pieces func(func(string) bool),
	every Millis) error {
	part, err := begin(p.turn.Out)
	if err != nil {
		return err
	}
	for s := range pieces {
		if err = part.Add(s); err == nil {
			err = pause(ctx, every)
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pieces(s string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		if n <= 0 {
			yield(s)
			return
		}
		for r := []rune(s); len(r) > 0; {
			k := min(n, len(r))
			if !yield(string(r[:k])) {
				return
			}
			r = r[k:]
		}
	}
}

func numbers(n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 1; i <= n; i++ {
			if !yield(strconv.Itoa(i) + " ") {
				return
			}
		}
	}
}

// clock returns the current time in nanoseconds as text, to measure delivery times.
func clock(n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for range n {
			if !yield(strconv.FormatInt(time.Now().UnixNano(), 10) + " ") {
				return
			}
		}
	}
}

// burst returns numbered pieces for load tests, so that lost and repeated ones are noticed.
func burst(n, bytes int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range n {
			s := strconv.Itoa(i) + " "
			if pad := bytes - len(s); pad > 0 {
				s += strings.Repeat("x", pad-1) + "\n"
			}
			if !yield(s) {
				return
			}
		}
	}
}

func (p player) run(ctx context.Context, command agent.Command) error {
	move, moved := p.moves.Movable(p.turn.Chat)
	defer moved()
	command.Move = move
	end, err := agent.RunCommand(ctx, p.spec, p.turn, command)
	if err != nil || !end.Denied {
		return err
	}
	return agent.Say(p.turn.Out, "The command was denied.")
}

func (p player) call(ctx context.Context, s Step) error {
	input := s.Input
	if input == "" {
		input = "{}"
	}
	result, err := p.turn.Out.ClientTool(ctx, s.Client, s.Call, json.RawMessage(input))
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return agent.Say(p.turn.Out, "The tool was not called: "+err.Error()+".")
	case !result.Success:
		return agent.Say(p.turn.Out, "The tool failed: "+result.PastTenseMessage.Text)
	}
	return agent.Say(p.turn.Out, "The tool answered: "+resultText(result))
}

func resultText(r ahp.ToolCallResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.Value.(*ahp.ToolResultTextContent); ok {
			b.WriteString(t.Text)
		}
	}
	if b.Len() == 0 {
		return r.PastTenseMessage.Text
	}
	return b.String()
}

// action emits a chat action as written.
func (p player) action(text string) error {
	a, err := action(text, "-"+p.turn.ID)
	if err != nil {
		return err
	}
	return p.turn.Out.Emit(a)
}

// spawn plays steps in a sub-chat, as a tool call of this chat.
func (p player) spawn(ctx context.Context, s Step) error {
	id := ids.New()
	out := p.turn.Out
	err := errors.Join(
		out.Emit(&ahp.ChatToolCallStartAction{ToolCallID: id, ToolName: "spawn", DisplayName: "Sub-agent"}),
		out.Emit(&ahp.ChatToolCallReadyAction{ToolCallID: id, InvocationMessage: ahp.Plain("Ask a sub-agent: " +
			s.Spawn),
			ToolInput: &ahp.ToolInput{Text: s.Message}, Confirmed: ahp.ToolCallConfirmationReasonNotNeeded}))
	if err != nil {
		return err
	}
	sub, end, err := p.spec.Host.Spawn(ctx,
		agent.SpawnSpec{Chat: p.turn.Chat, TurnID: p.turn.ID, ToolCallID: id, Title: s.Spawn, Message: s.Message})
	if err != nil {
		return p.finishSpawn(id, nil, err)
	}
	content := agent.Results(&ahp.ToolResultSubagentContent{Resource: sub.Chat, Title: s.Spawn, AgentName: Provider})
	if err := out.Emit(&ahp.ChatToolCallContentChangedAction{ToolCallID: id, Content: content}); err != nil {
		end(err)
		return err
	}
	err = player{p.spec, sub, p.moves}.all(ctx, s.Steps)
	end(err)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return p.finishSpawn(id, content, err)
}

func (p player) all(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		if err := p.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p player) finishSpawn(id string, content []ahp.ToolResultContent, err error) error {
	r := ahp.ToolCallResult{Success: true, PastTenseMessage: ahp.Plain("Asked a sub-agent"), Content: content}
	if err != nil {
		r.Success, r.PastTenseMessage = false, ahp.Plain("The sub-agent failed")
		r.Error = &ahp.ToolCallError{Message: fmt.Sprint(err)}
	}
	return p.turn.Out.Emit(&ahp.ChatToolCallCompleteAction{ToolCallID: id, Result: r})
}

// planSteps parses "[x] done | [>] now | [ ] later".
func planSteps(text string) (steps []agent.PlanStep) {
	for part := range strings.SplitSeq(text, "|") {
		mark, name, _ := strings.Cut(strings.TrimSpace(part), "]")
		state := map[string]string{"[x": agent.StepDone, "[>": agent.StepActive}[mark]
		steps = append(steps, agent.PlanStep{Text: strings.TrimSpace(name), State: cmp.Or(state, agent.StepPending)})
	}
	return steps
}
