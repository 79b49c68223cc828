package host

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// openRequest returns an unanswered input request, or nil.
func openRequest(s *ahp.ChatState, id string) *ahp.ChatInputRequest {
	if s.ActiveTurn == nil {
		return nil
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if part, ok := p.Value.(*ahp.InputRequestResponsePart); ok && part.Request.ID == id && part.Response == "" {
			return &part.Request
		}
	}
	return nil
}

// withdrawQuestions cancels the open questions of an interrupted turn. After a resume, the agent
// asks again, and no caller waits for an answer to the old question.
func withdrawQuestions(tx *hub.Tx, chat ahp.URI, s *ahp.ChatState) {
	if s.ActiveTurn == nil {
		return
	}
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		if part, ok := p.Value.(*ahp.InputRequestResponsePart); ok && part.Response == "" {
			tx.Apply(chat, &ahp.ChatInputCompletedAction{RequestID: part.Request.ID,
				Response: ahp.ChatInputResponseKindCancel})
		}
	}
}

const notAsked = "this question was already answered or its turn has ended" // AHP requirement 132

func checkAnswerChanged(_ *core.Request, s *ahp.ChatState, a *ahp.ChatInputAnswerChangedAction) string {
	req := openRequest(s, a.RequestID)
	if req == nil {
		return notAsked
	}
	q, ok := findQuestion(req, a.QuestionID)
	if !ok {
		return "this request has no question " + a.QuestionID + ""
	}
	if a.Answer == nil {
		return ""
	}
	return checkAnswer(q, *a.Answer)
}

func checkInputCompleted(_ *core.Request, s *ahp.ChatState, a *ahp.ChatInputCompletedAction) string {
	req := openRequest(s, a.RequestID)
	if req == nil {
		return notAsked
	}
	switch a.Response {
	case ahp.ChatInputResponseKindAccept, ahp.ChatInputResponseKindDecline, ahp.ChatInputResponseKindCancel:
	default:
		return "response must be accept, decline or cancel"
	}
	for _, id := range slices.Sorted(maps.Keys(a.Answers)) {
		q, ok := findQuestion(req, id)
		if !ok {
			return "there is no question " + id + " in this request"
		}
		if reason := checkAnswer(q, a.Answers[id]); reason != "" {
			return reason
		}
	}
	if a.Response != ahp.ChatInputResponseKindAccept {
		return ""
	}
	return checkRequired(req, a.Answers)
}

// checkRequired returns why answers are incomplete: a required question has no submitted answer
// (AHP requirement 134).
func checkRequired(req *ahp.ChatInputRequest, final map[string]ahp.ChatInputAnswer) string {
	for _, q := range req.Questions {
		id, required, text := questionOf(q)
		answer, ok := final[id]
		if !ok {
			answer = req.Answers[id]
		}
		given, ok := answer.Value.(*ahp.ChatInputAnswered)
		if required && (!ok || given.State != ahp.ChatInputAnswerStateSubmitted) {
			return fmt.Sprintf("%q needs an answer before this can be accepted", text)
		}
	}
	return ""
}

func findQuestion(req *ahp.ChatInputRequest, id string) (ahp.ChatInputQuestion, bool) {
	i := slices.IndexFunc(req.Questions, func(q ahp.ChatInputQuestion) bool {
		have, _,
			_ := questionOf(q)
		return have == id
	})
	if i < 0 {
		return ahp.ChatInputQuestion{}, false
	}
	return req.Questions[i], true
}

func questionOf(q ahp.ChatInputQuestion) (id string, required bool, text string) {
	is := func(b *bool) bool { return b != nil && *b }
	switch q := q.Value.(type) {
	case *ahp.ChatInputTextQuestion:
		return q.ID, is(q.Required), q.Message
	case *ahp.ChatInputNumberQuestion:
		return q.ID, is(q.Required), q.Message
	case *ahp.ChatInputBooleanQuestion:
		return q.ID, is(q.Required), q.Message
	case *ahp.ChatInputSingleSelectQuestion:
		return q.ID, is(q.Required), q.Message
	case *ahp.ChatInputMultiSelectQuestion:
		return q.ID, is(q.Required), q.Message
	}
	return "", false, ""
}

// checkAnswer checks that a value has its question's kind (AHP requirement 133). Bounds apply only
// to submitted answers, as a draft may be incomplete.
func checkAnswer(q ahp.ChatInputQuestion, answer ahp.ChatInputAnswer) string {
	a, ok := answer.Value.(*ahp.ChatInputAnswered)
	if !ok {
		if _, skipped := answer.Value.(*ahp.ChatInputSkipped); skipped {
			return ""
		}
		return "an answer is draft, submitted or skipped"
	}
	final := a.State == ahp.ChatInputAnswerStateSubmitted
	reason := "the answer does not fit the question"
	switch q := q.Value.(type) {
	case *ahp.ChatInputTextQuestion:
		if v, ok := a.Value.Value.(*ahp.ChatInputTextAnswerValue); ok {
			return whenFinal(final, checkBounds("characters", int64(utf8.RuneCountInString(v.Value)), q.Min, q.Max))
		}
		reason += ": it asks for text"
	case *ahp.ChatInputNumberQuestion:
		if v, ok := a.Value.Value.(*ahp.ChatInputNumberAnswerValue); ok {
			return whenFinal(final, checkNumber(q, v.Value))
		}
		reason += ": it asks for a number"
	case *ahp.ChatInputBooleanQuestion:
		if _, ok := a.Value.Value.(*ahp.ChatInputBooleanAnswerValue); ok {
			return ""
		}
		reason += ": it asks for yes or no"
	case *ahp.ChatInputSingleSelectQuestion:
		if v, ok := a.Value.Value.(*ahp.ChatInputSelectedAnswerValue); ok {
			return checkSelected(q.Options, q.AllowFreeformInput, []string{v.Value}, v.FreeformValues)
		}
		reason += ": it asks for one of its options"
	case *ahp.ChatInputMultiSelectQuestion:
		if v, ok := a.Value.Value.(*ahp.ChatInputSelectedManyAnswerValue); ok {
			if bad := checkSelected(q.Options, q.AllowFreeformInput, v.Value, v.FreeformValues); bad != "" {
				return bad
			}
			return whenFinal(final, checkBounds("choices", int64(len(v.Value)+len(v.FreeformValues)), q.Min, q.Max))
		}
		reason += ": it asks for some of its options"
	}
	return reason
}

func whenFinal(final bool, reason string) string {
	if final {
		return reason
	}
	return ""
}

func checkNumber(q *ahp.ChatInputNumberQuestion, v float64) string {
	switch {
	case q.Kind == ahp.ChatInputNumberKindInteger && v != math.Trunc(v):
		return fmt.Sprintf("%v is not a whole number", v)
	case q.Min != nil && v < *q.Min:
		return fmt.Sprintf("%v is too small: at least %v", v, *q.Min)
	case q.Max != nil && v > *q.Max:
		return fmt.Sprintf("%v is too large: at most %v", v, *q.Max)
	}
	return ""
}

// checkBounds returns why n is out of bounds, or "".
func checkBounds(what string, n int64, least, most *int64) string {
	switch {
	case least != nil && n < *least:
		return fmt.Sprintf("%d %s are too few: at least %d", n, what, *least)
	case most != nil && n > *most:
		return fmt.Sprintf("%d %s are too many: at most %d", n, what, *most)
	}
	return ""
}

func checkSelected(options []ahp.ChatInputOption, freeform *bool, chosen, own []string) string {
	free := freeform != nil && *freeform
	if len(own) > 0 && !free {
		return "choose one of the question's options. It takes no other text"
	}
	for _, c := range chosen {
		known := slices.ContainsFunc(options, func(o ahp.ChatInputOption) bool { return o.ID == c })
		if !known && !(free && c == "") {
			return fmt.Sprintf("there is no option %q", c)
		}
	}
	return ""
}

// handleInputCompleted passes the answers to the agent: final ones, and drafts where there is none.
func (ts *turns) handleInputCompleted(_ context.Context, e *hub.Envelope, a *ahp.ChatInputCompletedAction) {
	done := *a
	if s, ok := hub.StateOf[*ahp.ChatState](ts.h.core.Hub, e.Channel.URI); ok && s.ActiveTurn != nil {
		done.Answers = mergeAnswers(s.ActiveTurn, a)
	}
	ts.answer(e.Channel.URI, a.RequestID, &done)
}

func mergeAnswers(t *ahp.ActiveTurn, a *ahp.ChatInputCompletedAction) map[string]ahp.ChatInputAnswer {
	all := map[string]ahp.ChatInputAnswer{}
	for _, p := range t.ResponseParts.All() {
		if part, ok := p.Value.(*ahp.InputRequestResponsePart); ok && part.Request.ID == a.RequestID {
			maps.Copy(all, part.Request.Answers)
		}
	}
	maps.Copy(all, a.Answers)
	return all
}
