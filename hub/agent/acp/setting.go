package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// A program has three kinds of settings: modes, models, and config options, which replace both in
// newer programs. Each of them is a setting here, and in the session.

const (
	mostSettings = 32
	mostChoices  = 200 // choices of one setting in the schema
)

// setting is one setting of a program's session. It is immutable; a newer one replaces it.
type setting struct {
	key         string // key of the session's setting
	id          string // the program's id
	kind        settingKind
	category    string
	title       string
	description string
	current     json.RawMessage // a string, or a boolean
	initial     json.RawMessage // value in a new session; nil if unknown
	choices     []choice        // none for a boolean
}

type settingKind int

const (
	modeSetting settingKind = iota
	modelSetting
	optionSetting
)

type choice struct{ value, name, description string }

// settingsOf returns the settings in an answer to session/new and the like. Options take precedence
// over older programs' modes and models.
func settingsOf(r settings) []setting {
	var out []setting
	for _, o := range r.ConfigOptions {
		if d, ok := o.setting(); ok {
			out = append(out, d)
		}
	}
	has := func(category string) bool {
		return slices.ContainsFunc(out, func(d setting) bool { return d.category == category })
	}
	if m := r.Modes; m != nil && len(m.Available) > 0 && !has("mode") {
		d := setting{key: "mode", kind: modeSetting, category: "mode", title: "Mode", current: encodeString(m.Current)}
		for _, v := range m.Available {
			d.choices = append(d.choices, choice{v.ID, nameOf(v.Name, v.ID), v.Description})
		}
		out = append(out, d)
	}
	if m := r.Models; m != nil && len(m.Available) > 0 && !has("model") {
		d := setting{key: "model", kind: modelSetting, category: "model", title: "Model",
			current: encodeString(m.Current)}
		for _, v := range m.Available {
			d.choices = append(d.choices, choice{v.ID, nameOf(v.Name, v.ID), v.Description})
		}
		out = append(out, d)
	}
	return assignKeys(out[:min(len(out), mostSettings)])
}

// assignKeys gives each setting a unique key that differs from the host's own settings.
func assignKeys(list []setting) []setting {
	taken := agent.ApprovalConfig().Properties
	for i := range list {
		key := list[i].key
		for n := 2; ; n++ {
			if _, ok := taken[list[i].key]; !ok {
				break
			}
			list[i].key = fmt.Sprintf("%s-%d", key, n)
		}
		taken[list[i].key] = ahp.SessionConfigPropertySchema{}
	}
	return list
}

func (o configOption) setting() (setting, bool) {
	d := setting{key: o.ID, id: o.ID, kind: optionSetting, category: o.Category, title: nameOf(o.Name, o.ID),
		description: o.Description, current: o.CurrentValue}
	if o.ID == "" {
		return d, false
	}
	switch o.Type {
	case "boolean":
		var is bool
		return d, json.Unmarshal(o.CurrentValue, &is) == nil
	case "select", "":
		var is string
		for _, v := range o.Options {
			d.choices = append(d.choices, v.choices("")...)
		}
		return d, json.Unmarshal(o.CurrentValue, &is) == nil && len(d.choices) > 0
	}
	return d, false // of a kind that is not known here
}

// choices returns an option's values, or a group's with its name in front.
func (v optionChoice) choices(group string) (out []choice) {
	if v.Options == nil {
		return []choice{{v.Value, group + nameOf(v.Name, v.Value), v.Description}}
	}
	for _, in := range v.Options {
		if in.Options == nil {
			out = append(out, in.choices(nameOf(v.Name, v.Group)+": ")...)
		}
	}
	return out
}

func encodeString(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // strings always encode
	return raw
}

func (d setting) boolean() bool { return d.choices == nil }

// schema describes the setting for clients.
func (d setting) schema() ahp.SessionConfigPropertySchema {
	p := ahp.SessionConfigPropertySchema{Type: "string", Title: d.title, Description: d.description, Default: d.initial,
		SessionMutable: ahp.Ptr(true)}
	if d.boolean() {
		p.Type = "boolean"
		return p
	}
	for _, c := range d.choices[:min(len(d.choices), mostChoices)] {
		p.Enum = append(p.Enum, encodeString(c.value))
		p.EnumLabels = append(p.EnumLabels, c.name)
		p.EnumDescriptions = append(p.EnumDescriptions, c.description)
	}
	if len(d.choices) > mostChoices { // other values exist and must be typed
		p.EnumDynamic = ahp.Ptr(true)
	}
	return p
}

// validate reports why a value does not fit this setting; nil when it does.
func (d setting) validate(value json.RawMessage) error {
	if d.boolean() {
		var is bool
		if json.Unmarshal(value, &is) != nil {
			return fmt.Errorf("%s is on or off, not %s", d.title, texts.ElideBytes(string(value), 80))
		}
		return nil
	}
	want := plain(value)
	if slices.ContainsFunc(d.choices, func(c choice) bool { return c.value == want }) {
		return nil
	}
	var have []string
	for _, c := range d.choices[:min(len(d.choices), 10)] {
		have = append(have, c.value)
	}
	return fmt.Errorf("%s cannot be %q. Use one of: %s", d.title, texts.ElideBytes(want, 80), strings.Join(have, ", "))
}

// plain returns a string without quotes, and any other value as JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// label returns a value's name for people.
func (d setting) label(value json.RawMessage) string {
	for _, c := range d.choices {
		if c.value == plain(value) {
			return c.name
		}
	}
	return plain(value)
}

func (d setting) is(value json.RawMessage) bool { return plain(d.current) == plain(value) }

// models returns the choices of the model setting, for clients' model pickers.
func models(provider string, list []setting, vision bool) []ahp.SessionModelInfo {
	i := slices.IndexFunc(list, func(d setting) bool { return d.category == "model" })
	if i < 0 {
		return []ahp.SessionModelInfo{{ID: anyModel, Provider: provider, Name: "Default model"}}
	}
	var out []ahp.SessionModelInfo
	for _, c := range list[i].choices {
		m := ahp.SessionModelInfo{ID: c.value, Provider: provider, Name: c.name}
		if !vision {
			m.SupportsVision = ahp.Ptr(false)
		}
		out = append(out, m)
	}
	return out
}

// anyModel is the program's default model.
const anyModel = "default"
