package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostQuestions = 50  // of one form
	mostOptions   = 200 // of one question
)

// elicitation is a question of the program in free form.
type elicitation struct {
	params elicitParams
	nested bool // it used the method's former name, whose answers have another form
}

// elicitAnswer is the answer to an elicitation.
type elicitAnswer struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}

func (e *elicitation) answer(a elicitAnswer) any {
	if e.nested {
		return map[string]any{"action": a}
	}
	return a
}

// elicit asks people a question of the program, as an input request of the chat.
func (r *player) elicit(ctx context.Context, e event) error {
	form, err := newForm(e.elicit.params)
	if err != nil {
		r.p.fail(e.from, badParams(err))
		return nil
	}
	at := r.main
	if c := r.calls[e.elicit.params.ToolCallID]; c != nil {
		at = c.in
	}
	at.part = nil
	asking, withdraw := context.WithCancelCause(ctx)
	r.forms = append(r.forms, openForm{withdraw, e.elicit.params.ID, string(e.from.ID)})
	r.asked.Add(1)
	r.wg.Go(func() {
		a, err := at.out.Ask(asking, form.request)
		r.asked.Add(-1)
		if w, ok := errors.AsType[withdrawn](err); ok && ctx.Err() == nil {
			a = &ahp.ChatInputCompletedAction{RequestID: form.request.ID, Response: w.response}
			err = at.out.Emit(a)
		}
		if err != nil {
			r.p.reply(e.from, e.elicit.answer(elicitAnswer{Action: "cancel"}))
			return
		}
		r.p.reply(e.from, e.elicit.answer(form.answer(a)))
	})
	return nil
}

// openForm is an open question, with the ids of the program and the input request.
type openForm struct {
	withdraw context.CancelCauseFunc
	id, wire string
}

// withdrawn is the error of a question that needs no answer any more.
type withdrawn struct{ response ahp.ChatInputResponseKind }

func (withdrawn) Error() string { return "the agent no longer needs an answer" }

// withdraw closes a question of the program.
func (r *player) withdraw(w *withdrawal) {
	for _, f := range r.forms {
		switch {
		case w.ID != "" && w.ID == f.id:
			f.withdraw(withdrawn{ahp.ChatInputResponseKindAccept})
		case len(w.Request) > 0 && string(w.Request) == f.wire:
			f.withdraw(withdrawn{ahp.ChatInputResponseKindCancel})
		}
	}
}

// form is an input request, with the mapping of its answers to the program's fields.
type form struct {
	request ahp.ChatInputRequest
	fields  map[string]field // by question id
}

type field struct {
	name string
	kind string // of the values
}

func newForm(q elicitParams) (form, error) {
	f := form{request: ahp.ChatInputRequest{ID: ids.New(), Message: texts.ElideBytes(q.Message, mostText)},
		fields: map[string]field{}}
	if q.Mode == "url" {
		to, err := url.Parse(q.URL)
		if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Host == "" {
			return f, errors.New("url: only http and https addresses can be opened")
		}
		f.request.URL = q.URL
		return f, nil
	}
	if q.Mode != "form" && q.Mode != "" {
		return f, fmt.Errorf("mode: %q is not known here", texts.ElideBytes(q.Mode, 80))
	}
	props := q.Schema.Properties
	if len(props) > mostQuestions {
		return f, fmt.Errorf("requestedSchema: %d fields are too many: at most %d", len(props), mostQuestions)
	}
	for _, p := range props {
		id := questionID(p.name, len(f.fields))
		question, err := p.question(id, p.name, slices.Contains(q.Schema.Required, p.name))
		if err != nil {
			return f, fmt.Errorf("requestedSchema: %s: %w", texts.ElideBytes(p.name, 80), err)
		}
		f.request.Questions = append(f.request.Questions, ahp.ChatInputQuestion{Value: question})
		f.fields[id] = field{p.name, p.Type}
	}
	return f, nil
}

var plainID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// questionID returns a field's name if it can be an element's id on a page.
func questionID(name string, n int) string {
	if plainID.MatchString(name) {
		return name
	}
	return fmt.Sprintf("q.%d", n+1)
}

// question converts a field to a question of the protocol.
func (p property) question(id, name string, required bool) (ahp.ChatInputQuestionValue, error) {
	title, message := texts.ElideBytes(p.Title, 200), texts.ElideBytes(cmp.Or(p.Description, p.Title, name), 2000)
	if message == title {
		title = ""
	}
	must := ahp.Ptr(required)
	switch p.Type {
	case "string":
		if options := p.options(); options != nil {
			return &ahp.ChatInputSingleSelectQuestion{ID: id, Title: title, Message: message, Required: must,
				Options: recommended(options, p.Default)}, nil
		}
		if p.Pattern != "" {
			message += " (it has to match " + texts.ElideBytes(p.Pattern, 200) + ")"
		}
		return &ahp.ChatInputTextQuestion{ID: id, Title: title, Message: message, Required: must,
			Format: format(p.Format),
			Min:    p.MinLength, Max: p.MaxLength, DefaultValue: as[string](p.Default)}, nil
	case "number", "integer":
		return &ahp.ChatInputNumberQuestion{ID: id, Kind: ahp.ChatInputNumberKind(p.Type), Title: title,
			Message: message, Required: must,
			Min: p.Minimum, Max: p.Maximum, DefaultValue: pointer[float64](p.Default)}, nil
	case "boolean":
		return &ahp.ChatInputBooleanQuestion{ID: id, Title: title, Message: message, Required: must,
			DefaultValue: pointer[bool](p.Default)}, nil
	case "array":
		options := p.Items.options()
		if options == nil {
			return nil, errors.New("only lists of given values can be asked for")
		}
		return &ahp.ChatInputMultiSelectQuestion{ID: id, Title: title, Message: message, Required: must,
			Options: recommended(options, p.Default),
			Min:     p.MinItems, Max: p.MaxItems}, nil
	}
	return nil, fmt.Errorf("the type %q is not known here", texts.ElideBytes(p.Type, 80))
}

func format(s string) string {
	if slices.Contains([]string{"email", "uri", "date", "date-time"}, s) {
		return s
	}
	return ""
}

// options returns the values of a property with enumerated values; nil otherwise.
func (p *property) options() (out []ahp.ChatInputOption) {
	if p == nil {
		return nil
	}
	names := p.EnumNames
	for i, v := range p.Enum {
		label := v
		if i < len(names) {
			label = nameOf(names[i], v)
		}
		out = append(out, ahp.ChatInputOption{ID: v, Label: label})
	}
	for _, v := range append(p.OneOf, p.AnyOf...) {
		out = append(out, ahp.ChatInputOption{ID: v.Const, Label: nameOf(v.Title, v.Const), Description: v.Description})
	}
	return out[:min(len(out), mostOptions)]
}

// recommended marks the default option.
func recommended(options []ahp.ChatInputOption, raw json.RawMessage) []ahp.ChatInputOption {
	chosen := as[[]string](raw)
	if one := as[string](raw); one != "" {
		chosen = []string{one}
	}
	for i := range options {
		if slices.Contains(chosen, options[i].ID) {
			options[i].Recommended = ahp.Ptr(true)
		}
	}
	return options
}

func as[T any](raw json.RawMessage) (v T) {
	if json.Unmarshal(raw, &v) != nil {
		var none T
		return none
	}
	return v
}

func pointer[T any](raw json.RawMessage) *T {
	if !present(raw) || json.Unmarshal(raw, new(T)) != nil {
		return nil
	}
	v := as[T](raw)
	return &v
}

// answer converts answers to the program's names.
func (f form) answer(a *ahp.ChatInputCompletedAction) elicitAnswer {
	switch a.Response {
	case ahp.ChatInputResponseKindDecline:
		return elicitAnswer{Action: "decline"}
	case ahp.ChatInputResponseKindAccept:
	default:
		return elicitAnswer{Action: "cancel"}
	}
	out := elicitAnswer{Action: "accept", Content: map[string]any{}}
	for _, id := range slices.Sorted(maps.Keys(a.Answers)) {
		given, ok := a.Answers[id].Value.(*ahp.ChatInputAnswered)
		to, known := f.fields[id]
		if !ok || !known || given.State != ahp.ChatInputAnswerStateSubmitted {
			continue
		}
		if v := to.value(given.Value); v != nil {
			out.Content[to.name] = v
		}
	}
	return out
}

func (to field) value(v ahp.ChatInputAnswerValue) any {
	switch v := v.Value.(type) {
	case *ahp.ChatInputTextAnswerValue:
		return v.Value
	case *ahp.ChatInputNumberAnswerValue:
		if to.kind == "integer" {
			return int64(v.Value)
		}
		return v.Value
	case *ahp.ChatInputBooleanAnswerValue:
		return v.Value
	case *ahp.ChatInputSelectedAnswerValue:
		return cmp.Or(append([]string{v.Value}, v.FreeformValues...)...)
	case *ahp.ChatInputSelectedManyAnswerValue:
		return append(append([]string{}, v.Value...), v.FreeformValues...)
	}
	return nil
}
