package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// emitPlan emits a plan unless it is the one already shown: many programs send both a plan and the
// call of the tool that wrote it.
func (s *stream) emitPlan(entries []planEntry) error {
	steps := make([]agent.PlanStep, 0, len(entries))
	for _, e := range entries {
		steps = append(steps, agent.PlanStep{Text: e.text(), State: e.state()})
	}
	if slices.Equal(steps, s.plan) {
		return nil
	}
	s.part, s.plan = nil, steps
	return s.spared(agent.EmitPlan(s.out, steps))
}

func (r *player) notice(text string) error { return r.main.notice(text) }

func (s *stream) notice(text string) error {
	return s.emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{
		Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(text)}}})
}

func (e planEntry) text() string { return cmp.Or(e.Content, e.Description, e.Title, e.Step) }

func (e planEntry) state() string {
	switch e.Status {
	case "completed", "done", "cancelled":
		return agent.StepDone
	case "in_progress", "in-progress":
		return agent.StepActive
	}
	return agent.StepPending
}

// todoTools are names of tools with which agents write their plans, without case and separators.
var todoTools = []string{"todowrite", "writetodos", "updateplan", "updatetodos", "managetodolist"}

// isTodo reports whether a call's first title names a tool that writes the plan.
func isTodo(f *toolFields) bool {
	if f.Title == nil {
		return false
	}
	name := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(*f.Title))
	return slices.Contains(todoTools, name)
}

// todos returns the plan in a call's input.
func (c *call) todos() []planEntry {
	var in struct {
		Todos, TodoList, Plan []planEntry
	}
	if !present(c.input) || json.Unmarshal(c.input, &in) != nil {
		return nil
	}
	for _, list := range [][]planEntry{in.Todos, in.TodoList, in.Plan} {
		if len(list) > 0 && !slices.ContainsFunc(list, func(e planEntry) bool { return e.text() == "" }) {
			return list
		}
	}
	return nil
}

// advanceTodo shows the plan that a call writes instead of the call. A call without a plan that can
// be read is shown like any other once it ends.
func (r *player) advanceTodo(c *call) (shown bool, err error) {
	if list := c.todos(); list != nil {
		return true, c.in.emitPlan(list)
	}
	if c.status != "completed" && c.status != "failed" {
		return true, nil
	}
	return false, r.begin(c)
}
