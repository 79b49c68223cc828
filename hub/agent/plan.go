package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

// States of a plan's steps.
const (
	StepPending = "pending"
	StepActive  = "active"
	StepDone    = "done"
)

const (
	mostSteps    = 100
	mostStepText = 500 // bytes
)

// PlanStep is a step of an agent's plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state"`
}

// EmitPlan emits an agent's plan as it is now. The protocol has no shape for plans: each version is
// a completed tool call with the list as its text, which every client can show, and with the steps
// in `_meta`, from which a page draws one list for the turn.
func EmitPlan(out Out, steps []PlanStep) error {
	shown, more := boundSteps(steps)
	raw, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	id, progress := ids.New(), ahp.Plain(planProgress(steps))
	text := planText(shown)
	if more > 0 {
		text += fmt.Sprintf("… and %d more\n", more)
	}
	return emitAll(out,
		&ahp.ChatToolCallStartAction{ToolCallID: id, ToolName: "update_plan", DisplayName: "Update plan",
			Meta: ahp.Meta{"ahphub/plan": raw}},
		&ahp.ChatToolCallReadyAction{ToolCallID: id, InvocationMessage: progress,
			Confirmed: ahp.ToolCallConfirmationReasonNotNeeded},
		&ahp.ChatToolCallCompleteAction{ToolCallID: id, Result: ahp.ToolCallResult{Success: true,
			PastTenseMessage: progress, Content: Results(&ahp.ToolResultTextContent{Text: text})}})
}

func emitAll(out Out, actions ...ahp.Action) error {
	for _, a := range actions {
		if err := out.Emit(a); err != nil {
			return err
		}
	}
	return nil
}

// boundSteps limits the number and length of steps, and returns how many it left out.
func boundSteps(steps []PlanStep) (shown []PlanStep, more int) {
	if len(steps) > mostSteps {
		steps, more = steps[:mostSteps], len(steps)-mostSteps
	}
	shown = make([]PlanStep, 0, len(steps))
	for _, s := range steps {
		shown = append(shown, PlanStep{texts.ElideBytes(texts.OneLine(s.Text), mostStepText), s.State})
	}
	return shown, more
}

func planText(steps []PlanStep) string {
	marks := map[string]string{StepDone: "[x]", StepActive: "[>]"}
	var b strings.Builder
	for _, s := range steps {
		mark := marks[s.State]
		if mark == "" {
			mark = "[ ]"
		}
		b.WriteString(mark + " " + s.Text + "\n")
	}
	return b.String()
}

// planProgress describes the progress of a plan on one line.
func planProgress(steps []PlanStep) string {
	if len(steps) == 0 {
		return "Plan: cleared"
	}
	done, now := 0, ""
	for _, s := range steps {
		switch s.State {
		case StepDone:
			done++
		case StepActive:
			now = texts.ElideBytes(texts.OneLine(s.Text), 200)
		}
	}
	text := fmt.Sprintf("Plan: %d of %d done", done, len(steps))
	if now != "" {
		text += ", now: " + now
	}
	return text
}
