package part

import (
	"net/url"
	"strconv"

	"github.com/ahphub/ahphub/hub/ahp"
)

// question is a question of any of the six kinds, as a form field.
type question struct {
	ID, Title, Message, Kind string // text, number, integer, boolean, single, multi
	Required, Freeform       bool
	Type                     string // of the input element
	Min, Max                 string
	MinLen, MaxLen           int64
	Options                  []ahp.ChatInputOption
	Value                    string
	Values                   []string
	Other                    string
	Skipped                  bool
}

// isWeb reports whether an address is an absolute http or https URL, which may be a link.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func questionOf(q ahp.ChatInputQuestion, answers map[string]ahp.ChatInputAnswer) question {
	out := question{Type: "text"}
	switch v := q.Value.(type) {
	case *ahp.ChatInputTextQuestion:
		out = question{ID: v.ID, Title: v.Title, Message: v.Message, Kind: "text", Required: isTrue(v.Required),
			Type:   textType(v.Format),
			MinLen: value(v.Min), MaxLen: value(v.Max), Value: v.DefaultValue}
	case *ahp.ChatInputNumberQuestion:
		out = question{ID: v.ID, Title: v.Title, Message: v.Message, Kind: string(v.Kind), Required: isTrue(v.Required),
			Type: "number", Min: number(v.Min), Max: number(v.Max), Value: number(v.DefaultValue)}
	case *ahp.ChatInputBooleanQuestion:
		out = question{ID: v.ID, Title: v.Title, Message: v.Message, Kind: "boolean", Required: isTrue(v.Required)}
		if v.DefaultValue != nil {
			out.Value = strconv.FormatBool(*v.DefaultValue)
		}
	case *ahp.ChatInputSingleSelectQuestion:
		out = question{ID: v.ID, Title: v.Title, Message: v.Message, Kind: "single", Required: isTrue(v.Required),
			Options: v.Options, Freeform: isTrue(v.AllowFreeformInput)}
		out.Value = recommended(v.Options)
	case *ahp.ChatInputMultiSelectQuestion:
		out = question{ID: v.ID, Title: v.Title, Message: v.Message, Kind: "multi", Required: isTrue(v.Required),
			Options: v.Options, Freeform: isTrue(v.AllowFreeformInput),
			MinLen: value(v.Min), MaxLen: value(v.Max)}
	}
	return out.answered(answers[out.ID])
}

// answered fills in earlier answers, which take precedence over defaults.
func (q question) answered(a ahp.ChatInputAnswer) question {
	switch v := a.Value.(type) {
	case *ahp.ChatInputSkipped:
		q.Skipped, q.Value = true, ""
	case *ahp.ChatInputAnswered:
		switch x := v.Value.Value.(type) {
		case *ahp.ChatInputTextAnswerValue:
			q.Value = x.Value
		case *ahp.ChatInputNumberAnswerValue:
			q.Value = number(&x.Value)
		case *ahp.ChatInputBooleanAnswerValue:
			q.Value = strconv.FormatBool(x.Value)
		case *ahp.ChatInputSelectedAnswerValue:
			q.Value = x.Value
			if len(x.FreeformValues) > 0 {
				q.Other = x.FreeformValues[0]
			}
		case *ahp.ChatInputSelectedManyAnswerValue:
			q.Values = x.Value
			if len(x.FreeformValues) > 0 {
				q.Other = x.FreeformValues[0]
			}
		}
	}
	return q
}

func (q question) picked(id string) bool {
	for _, v := range q.Values {
		if v == id {
			return true
		}
	}
	return q.Kind != "multi" && q.Value == id
}

// shown describes the answer, for a closed request.
func (q question) shown() string {
	label := func(id string) string {
		for _, o := range q.Options {
			if o.ID == id {
				return o.Label
			}
		}
		return id
	}
	out := q.Value
	switch q.Kind {
	case "single":
		out = label(q.Value)
	case "multi":
		out = ""
		for i, v := range q.Values {
			if i > 0 {
				out += ", "
			}
			out += label(v)
		}
	case "boolean":
		out = map[string]string{"true": "Yes", "false": "No"}[q.Value]
	}
	if q.Other != "" {
		out = firstOf(out, q.Other)
	}
	return firstOf(out, "No answer")
}

func recommended(list []ahp.ChatInputOption) string {
	for _, o := range list {
		if isTrue(o.Recommended) {
			return o.ID
		}
	}
	return ""
}

func textType(format string) string {
	switch format {
	case "email":
		return "email"
	case "uri", "url":
		return "url"
	case "date":
		return "date"
	case "date-time":
		return "datetime-local"
	}
	return "text"
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func responseWord(k ahp.ChatInputResponseKind) string {
	switch k {
	case ahp.ChatInputResponseKindAccept:
		return "Answered"
	case ahp.ChatInputResponseKindDecline:
		return "Declined"
	case ahp.ChatInputResponseKindCancel:
		return "Cancelled"
	}
	return NotAnswered.Word
}

func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

const longestAnswer = 100_000 // bytes of one text answer; the host's own limit is lower or equal

func maxLen(q question) int64 {
	if q.MaxLen > 0 {
		return q.MaxLen
	}
	return longestAnswer
}

func step(kind string) string {
	if kind == "integer" {
		return "1"
	}
	return "any"
}

func optionHint(o ahp.ChatInputOption) string {
	if isTrue(o.Recommended) {
		return firstOf(o.Description+" (recommended)", "recommended")
	}
	return o.Description
}
