package part

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Setting is one setting of a session in a form.
type Setting struct {
	Key, Title, Hint, Value string
	Number                  bool
	Choices                 []Choice // empty for free text
	Items                   []string // of a list; each can be removed
	List                    bool
	Risky                   bool // skips approvals: shown in red
	Open                    bool // accepts any text: the choices are suggestions
}

// Choice is one value of a setting.
type Choice struct {
	Value, Label, Hint string
	Risky              bool // skips approvals
}

// SettingsOf returns the settings of a schema that can be set, in the order of settingRank. live
// leaves out those that are fixed once a session exists; risky reports values that skip approvals.
func SettingsOf(schema ahp.SessionConfigSchema, values ahp.Meta, live bool,
	risky func(key, value string) bool) (out []Setting) {
	for _, key := range slices.SortedFunc(maps.Keys(schema.Properties), settingOrder) {
		p := schema.Properties[key]
		if isTrue(p.ReadOnly) || live && !isTrue(p.SessionMutable) {
			continue
		}
		raw, ok := values[key]
		if !ok {
			raw = p.Default
		}
		s := Setting{Key: key, Title: firstOf(p.Title, key), Hint: p.Description, Value: scalar(raw),
			Choices: choices(p)}
		s.Open, s.Risky = isTrue(p.EnumDynamic), risky(key, s.Value)
		for i, c := range s.Choices {
			s.Choices[i].Risky = risky(key, c.Value)
		}
		switch {
		case p.Type == "array" && p.Items != nil && p.Items.Type == "string":
			s.List, s.Value = true, ""
			_ = json.Unmarshal(raw, &s.Items) // absent: an empty list
		case p.Type == "number":
			s.Number = true
		case p.Type != "string" && p.Type != "boolean":
			continue
		}
		out = append(out, s)
	}
	return out
}

var settingRank = map[string]int{"model": -2, "mode": -1, "approval": 1, "allowed": 2}

func settingOrder(a, b string) int { return cmp.Or(settingRank[a]-settingRank[b], cmp.Compare(a, b)) }

// ValueLabel returns the label of a setting's value, or the value if it has none.
func ValueLabel(p ahp.SessionConfigPropertySchema, raw json.RawMessage) string {
	value := scalar(raw)
	for _, c := range choices(p) {
		if c.Value == value {
			return c.Label
		}
	}
	return value
}

func choices(p ahp.SessionConfigPropertySchema) (out []Choice) {
	if p.Type == "boolean" {
		return []Choice{{Value: "true", Label: "On"}, {Value: "false", Label: "Off"}}
	}
	for i, e := range p.Enum {
		c := Choice{Value: scalar(e), Label: scalar(e)}
		if i < len(p.EnumLabels) {
			c.Label = firstOf(p.EnumLabels[i], c.Label)
		}
		if i < len(p.EnumDescriptions) {
			c.Hint = p.EnumDescriptions[i]
		}
		out = append(out, c)
	}
	return out
}

// scalar converts a JSON scalar to text.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// field returns the input element's attributes; numbers may have any step.
func (s Setting) field() templ.Attributes {
	if s.Open {
		return templ.Attributes{"list": "offered-" + s.Key, "maxlength": "400", "autocomplete": "off"}
	}
	if s.Number {
		return templ.Attributes{"type": "number", "step": "any", "inputmode": "decimal"}
	}
	return nil
}

// formID returns the id of the form that removes item i of a list.
func (s Setting) formID(i int) string { return "set-" + s.Key + "-" + strconv.Itoa(i) }

// saysItself reports whether the value is clear without the setting's title.
func (s Setting) saysItself() bool {
	return (s.Key == "model" || s.Key == "mode" || s.Key == "approval") && s.label() != ""
}

// label returns the label of the chosen value, for viewers who cannot change it.
func (s Setting) label() string {
	for _, c := range s.Choices {
		if c.Value == s.Value {
			return c.Label
		}
	}
	return s.Value
}

// chosen reports whether the value is one of the choices.
func (s Setting) chosen() bool {
	return slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.Value == s.Value })
}

// isUsual reports whether people often choose it when they start a session; the form folds the other settings.
func (s Setting) isUsual() bool { return s.Key == "model" || s.Key == "mode" }

// moreOptions returns the settings that the form of a new session folds away.
func moreOptions(list []Setting) []Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s Setting) bool { return s.List || s.isUsual() })
}

// without returns the list without an item, as JSON.
func (s Setting) without(item string) string {
	left := slices.DeleteFunc(slices.Clone(s.Items), func(x string) bool { return x == item })
	raw, err := json.Marshal(left)
	if err != nil {
		return "[]"
	}
	return string(raw)
}
