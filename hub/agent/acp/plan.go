package acp

import (
	"fmt"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// emitPlan emits a plan. The program sends the whole plan each time and the protocol has no shape
// for changing plans, so a plan with other steps is a new list of tasks, and one with the same
// steps is a line with its progress.
func (s *stream) emitPlan(steps []planEntry) error {
	if len(steps) == 0 {
		return nil
	}
	var texts strings.Builder
	for _, step := range steps {
		texts.WriteString(step.Content + "\n")
	}
	s.part = nil
	if texts.String() == s.plan {
		return s.notice(progress(steps))
	}
	s.plan = texts.String()
	return s.spared(agent.Say(s.out, taskList(steps)))
}

func (r *player) notice(text string) error { return r.main.notice(text) }

func (s *stream) notice(text string) error {
	return s.emit(&ahp.ChatResponsePartAction{Part: ahp.ResponsePart{
		Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(text)}}})
}

func taskList(steps []planEntry) string {
	var b strings.Builder
	b.WriteString("**Plan**\n\n")
	for _, s := range steps {
		mark := " "
		if s.Status == "completed" {
			mark = "x"
		}
		fmt.Fprintf(&b, "- [%s] %s\n", mark, texts.OneLine(s.Content))
	}
	return b.String()
}

func progress(steps []planEntry) string {
	done, now := 0, ""
	for _, s := range steps {
		switch s.Status {
		case "completed":
			done++
		case "in_progress":
			now = s.Content
		}
	}
	text := fmt.Sprintf("Plan: %d of %d done", done, len(steps))
	if now != "" {
		text += ", now: " + now
	}
	return text
}
