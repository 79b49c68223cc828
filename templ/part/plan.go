package part

import (
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Plan is an agent's latest plan in a turn.
type Plan struct {
	Turn    string
	Steps   []PlanStep
	Running bool
}

// PlanStep is a step of a plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state"` // pending, active, done
}

// planOf returns the plan of a tool call that only reports a plan.
func planOf(c ahp.ToolCallBase) (steps []PlanStep, ok bool) {
	raw := c.Meta["ahphub/plan"]
	return steps, len(raw) > 0 && json.Unmarshal(raw, &steps) == nil
}

// Plan returns the newest plan of the turn.
func (t *Turn) Plan() Plan {
	p := Plan{Turn: t.ID, Running: t.Running()}
	for i := len(t.Parts) - 1; i >= 0; i-- {
		if v, ok := t.Parts[i].Value.(*ahp.ToolCallResponsePart); ok {
			if steps, ok := planOf(*v.ToolCall.Base()); ok {
				p.Steps = steps
				break
			}
		}
	}
	return p
}

func (p Plan) progress() string {
	done := 0
	for _, s := range p.Steps {
		if s.State == "done" {
			done++
		}
	}
	return Count(done) + " of " + Count(len(p.Steps)) + " done"
}

// now returns the step in progress, for the folded plan.
func (p Plan) now() string {
	for _, s := range p.Steps {
		if s.State == "active" && p.Running {
			return s.Text
		}
	}
	return ""
}

// status returns the icon, word and class of a step.
func (p Plan) status(s PlanStep) Status {
	switch {
	case s.State == "done":
		return Status{"done", "Done", "done"}
	case s.State == "active" && p.Running:
		return Status{"running", "In progress", "active"}
	case s.State == "active":
		return Status{"stop", "Not finished", "left"}
	}
	return Status{"idle", "Pending", "pending"}
}

// markdown returns the plan as a task list.
func (p Plan) markdown() string {
	if len(p.Steps) == 0 {
		return ""
	}
	out := "**Plan** — " + p.progress() + "\n\n"
	for _, s := range p.Steps {
		mark := " "
		if s.State == "done" {
			mark = "x"
		}
		out += "- [" + mark + "] " + s.Text + "\n"
	}
	return out
}
