package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

// ask asks questions and reports the answers.
func (p player) ask(ctx context.Context, text string) error {
	r, err := request(text)
	if err != nil {
		return err
	}
	r.ID = ids.New()
	done, err := p.turn.Out.Ask(ctx, r)
	if err != nil {
		return err
	}
	return agent.Say(p.turn.Out, answers(done))
}

// request parses a ChatInputRequest; "all" is one with a question of each kind.
func request(text string) (ahp.ChatInputRequest, error) {
	if text == "all" {
		return everyKind(), nil
	}
	var r ahp.ChatInputRequest
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("the questions are not valid: %w", err)
	}
	return r, nil
}

func everyKind() ahp.ChatInputRequest {
	options := []ahp.ChatInputOption{
		{ID: "sqlite", Label: "SQLite", Description: "One file, nothing to run", Recommended: ahp.Ptr(true)},
		{ID: "postgres", Label: "PostgreSQL", Description: "A separate server"},
		{ID: "memory", Label: "Memory"},
	}
	q := func(v ahp.ChatInputQuestionValue) ahp.ChatInputQuestion { return ahp.ChatInputQuestion{Value: v} }
	return ahp.ChatInputRequest{
		Message: "A question of each kind",
		Questions: []ahp.ChatInputQuestion{
			q(&ahp.ChatInputTextQuestion{ID: "name", Title: "Name", Message: "What should the package be called?",
				Required: ahp.Ptr(true), Min: ahp.Ptr(int64(1)), Max: ahp.Ptr(int64(40))}),
			q(&ahp.ChatInputNumberQuestion{Kind: ahp.ChatInputNumberKindNumber, ID: "ratio", Title: "Ratio",
				Message: "How much of the traffic?",
				Min:     ahp.Ptr(0.0), Max: ahp.Ptr(1.0), DefaultValue: ahp.Ptr(0.5)}),
			q(&ahp.ChatInputNumberQuestion{Kind: ahp.ChatInputNumberKindInteger, ID: "workers", Title: "Workers",
				Message: "How many workers?",
				Min:     ahp.Ptr(1.0), Max: ahp.Ptr(64.0), DefaultValue: ahp.Ptr(4.0)}),
			q(&ahp.ChatInputBooleanQuestion{ID: "tests", Title: "Tests", Message: "Write tests as well?",
				DefaultValue: ahp.Ptr(true)}),
			q(&ahp.ChatInputSingleSelectQuestion{ID: "store", Title: "Store", Message: "Which store?",
				Required: ahp.Ptr(true),
				Options:  options, AllowFreeformInput: ahp.Ptr(true)}),
			q(&ahp.ChatInputMultiSelectQuestion{ID: "targets", Title: "Targets", Message: "Which of these to support?",
				Options: options, Min: ahp.Ptr(int64(1)), Max: ahp.Ptr(int64(2))}),
		},
	}
}

func answers(done *ahp.ChatInputCompletedAction) string {
	switch done.Response {
	case ahp.ChatInputResponseKindDecline:
		return "You declined to answer."
	case ahp.ChatInputResponseKindCancel:
		return "You cancelled the questions."
	}
	if len(done.Answers) == 0 {
		return "You accepted without answers."
	}
	var b strings.Builder
	b.WriteString("You answered:\n\n")
	for _, id := range slices.Sorted(maps.Keys(done.Answers)) {
		fmt.Fprintf(&b, "- %s: %s\n", agent.Code(id), agent.Code(answer(done.Answers[id])))
	}
	return b.String()
}

func answer(a ahp.ChatInputAnswer) string {
	given, ok := a.Value.(*ahp.ChatInputAnswered)
	if !ok {
		return "skipped"
	}
	switch v := given.Value.Value.(type) {
	case *ahp.ChatInputTextAnswerValue:
		return v.Value
	case *ahp.ChatInputNumberAnswerValue:
		return fmt.Sprint(v.Value)
	case *ahp.ChatInputBooleanAnswerValue:
		return fmt.Sprint(v.Value)
	case *ahp.ChatInputSelectedAnswerValue:
		return strings.Join(append([]string{v.Value}, v.FreeformValues...), ", ")
	case *ahp.ChatInputSelectedManyAnswerValue:
		return strings.Join(append(slices.Clone(v.Value), v.FreeformValues...), ", ")
	}
	return "?"
}
