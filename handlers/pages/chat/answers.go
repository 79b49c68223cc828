package chat

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// AnswerInput answers a request for input with the form's values.
func (p *Pages) AnswerInput(r *http.Request, f chatForm) (ahp.Action, error) {
	a := &ahp.ChatInputCompletedAction{RequestID: r.PostForm.Get("request"),
		Response: ahp.ChatInputResponseKind(r.PostForm.Get("response"))}
	if a.Response != ahp.ChatInputResponseKindAccept {
		return a, nil
	}
	req := p.openRequest(f.chat, a.RequestID)
	if req == nil {
		return nil, site.Refused("this question was already answered or its turn has ended")
	}
	a.Answers = map[string]ahp.ChatInputAnswer{}
	for _, q := range req.Questions {
		id, answer, err := readAnswer(q, r.PostForm, ahp.ChatInputAnswerStateSubmitted)
		if err != nil {
			return nil, err
		}
		if id != "" {
			a.Answers[id] = answer
		}
	}
	return a, nil
}

// DraftAnswer shares an unsent answer, so that all viewers edit the same form.
func (p *Pages) DraftAnswer(r *http.Request, f chatForm) (ahp.Action, error) {
	req := p.openRequest(f.chat, r.PostForm.Get("request"))
	if req == nil {
		return nil, site.Refused("this question was already answered or its turn has ended")
	}
	for _, q := range req.Questions {
		id, answer, err := readAnswer(q, r.PostForm, ahp.ChatInputAnswerStateDraft)
		if id == "" || id != r.PostForm.Get("question") {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &ahp.ChatInputAnswerChangedAction{RequestID: req.ID, QuestionID: id, Answer: &answer}, nil
	}
	return nil, site.BadRequest("Question not found.")
}

func (p *Pages) openRequest(chat ahp.URI, id string) *ahp.ChatInputRequest {
	c, _ := hub.StateOf[*ahp.ChatState](p.Hub, chat)
	if c == nil || c.ActiveTurn == nil {
		return nil
	}
	for _, rp := range c.ActiveTurn.ResponseParts.All() {
		if v, ok := rp.Value.(*ahp.InputRequestResponsePart); ok && v.Request.ID == id && v.Response == "" {
			return &v.Request
		}
	}
	return nil
}

// readAnswer reads the fields of one question: "q.<id>" and, for free text, "other.<id>". An empty answer
// is skipped.
func readAnswer(q ahp.ChatInputQuestion, form url.Values,
	state ahp.ChatInputAnswerState) (id string, a ahp.ChatInputAnswer, err error) {
	field := func(id string) (string, []string) {
		other := strings.TrimSpace(form.Get("other." + id))
		if other == "" {
			return form.Get("q." + id), nil
		}
		return form.Get("q." + id), []string{other}
	}
	var value ahp.ChatInputAnswerValueValue
	switch v := q.Value.(type) {
	case *ahp.ChatInputTextQuestion:
		id = v.ID
		if text, _ := field(id); text != "" {
			value = &ahp.ChatInputTextAnswerValue{Value: strings.ReplaceAll(text, "\r\n", "\n")}
		}
	case *ahp.ChatInputNumberQuestion:
		id = v.ID
		if text, _ := field(id); strings.TrimSpace(text) != "" {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return id, a, site.BadRequest("“" + text + "” is not a number.")
			}
			value = &ahp.ChatInputNumberAnswerValue{Value: n}
		}
	case *ahp.ChatInputBooleanQuestion:
		id = v.ID
		if text, _ := field(id); text != "" {
			value = &ahp.ChatInputBooleanAnswerValue{Value: text == "true"}
		}
	case *ahp.ChatInputSingleSelectQuestion:
		id = v.ID
		if text, other := field(id); text != "" || other != nil {
			value = &ahp.ChatInputSelectedAnswerValue{Value: text, FreeformValues: other}
		}
	case *ahp.ChatInputMultiSelectQuestion:
		id = v.ID
		picked := form["q."+id]
		if _, other := field(id); len(picked) > 0 || other != nil {
			if picked == nil {
				picked = []string{}
			}
			value = &ahp.ChatInputSelectedManyAnswerValue{Value: picked, FreeformValues: other}
		}
	}
	if value == nil {
		return id, ahp.ChatInputAnswer{Value: &ahp.ChatInputSkipped{}}, nil
	}
	return id, ahp.ChatInputAnswer{Value: &ahp.ChatInputAnswered{State: state,
		Value: ahp.ChatInputAnswerValue{Value: value}}}, nil
}
