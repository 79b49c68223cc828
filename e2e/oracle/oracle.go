package oracle

import (
	"encoding/json"
	"strconv"
	"strings"
)

type (
	object = map[string]any
	list   = []any
)

// Reduce returns the state of a channel after an action, by the rules of a version. The kind is one
// of the fixtures' names: root, session, chat, terminal, changeset, annotations, resourceWatch,
// automation, automationRun or canvas. An action unknown to the kind changes nothing. Reduce does
// not modify its arguments.
func Reduce(version, kind string, state, action map[string]any) map[string]any {
	return Apply(version, kind, copied(state).(object), copied(action).(object))
}

// Apply reduces like Reduce, for callers that no longer need the arguments: the result shares parts
// of them.
func Apply(version, kind string, state, action map[string]any) map[string]any {
	r := &reduction{version: rankOf(version), s: state, a: action}
	if reduce := kinds[kind]; reduce != nil {
		reduce(r, text(action, "type"))
	}
	return r.s
}

var kinds = map[string]func(r *reduction, action string){
	"root":          (*reduction).root,
	"session":       (*reduction).session,
	"chat":          (*reduction).chat,
	"terminal":      (*reduction).terminal,
	"changeset":     (*reduction).changeset,
	"annotations":   (*reduction).annotations,
	"resourceWatch": func(*reduction, string) {}, // its actions are events that never change the state
	"automation":    (*reduction).automation,
	"automationRun": (*reduction).automationRun,
	"canvas":        (*reduction).canvas,
}

// reduction is the application of one action to one state. It may modify both and share their
// parts.
type reduction struct {
	version int
	s, a    object
}

// Releases whose reducers differ.
var (
	v050 = rankOf("0.5.0")
	v052 = rankOf("0.5.2")
	v060 = rankOf("0.6.0")
	v070 = rankOf("0.7.0")
	v080 = rankOf("0.8.0")
	v090 = rankOf("0.9.0")
)

// rankOf returns the rank of a version: 0.5.2 is below 0.6.0. A development version such as 0.8-dev
// is just below its release.
func rankOf(version string) int {
	version, development := strings.CutSuffix(version, "-dev")
	rank := 0
	parts := append(strings.Split(version, "."), "0", "0")
	for _, part := range parts[:3] {
		n, _ := strconv.Atoi(part)
		rank = rank*1000 + n
	}
	if development {
		rank--
	}
	return rank
}

// copied returns a deep copy of a JSON value.
func copied(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			out[k] = copied(e)
		}
		return out
	case list:
		out := make(list, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	}
	return v
}

func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

func flag(o object, key string) bool {
	b, _ := o[key].(bool)
	return b
}

func member(o object, key string) object {
	v, _ := o[key].(object)
	return v
}

func items(o object, key string) list {
	v, _ := o[key].(list)
	return v
}

func integer(o object, key string) int64 {
	switch n := o[key].(type) {
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, _ := n.Float64()
		return int64(f)
	case float64:
		return int64(n)
	}
	return 0
}

func number(i int64) json.Number { return json.Number(strconv.FormatInt(i, 10)) }

// put sets a property, or removes it for nil: JSON omits undefined properties.
func put(o object, key string, value any) {
	if value == nil {
		delete(o, key)
	} else {
		o[key] = value
	}
}

// take copies present properties, and leaves others of to unchanged.
func take(to, from object, keys ...string) {
	for _, key := range keys {
		if from[key] != nil {
			to[key] = from[key]
		}
	}
}

// replace copies properties, and removes those that are absent in from.
func replace(to, from object, keys ...string) {
	for _, key := range keys {
		put(to, key, from[key])
	}
}

// find returns the index of the entry with this value for key, or -1.
func find(entries list, key, value string) int {
	for i, e := range entries {
		if o, ok := e.(object); ok && o[key] == value {
			return i
		}
	}
	return -1
}

// upsert replaces the entry with the same key, or appends the new one.
func upsert(o object, name, key string, entry any) {
	e, ok := entry.(object)
	if !ok {
		return
	}
	entries := items(o, name)
	if i := find(entries, key, text(e, key)); i >= 0 {
		entries[i] = e
		return
	}
	o[name] = append(entries, e)
}

// remove removes the entry with the key and reports whether it existed.
func remove(o object, name, key, value string) bool {
	entries := items(o, name)
	i := find(entries, key, value)
	if i < 0 {
		return false
	}
	o[name] = append(entries[:i:i], entries[i+1:]...)
	return true
}

func dropEmpty(o object, name string) {
	if len(items(o, name)) == 0 {
		delete(o, name)
	}
}

func dropEmptyObject(o object, name string) {
	if len(member(o, name)) == 0 {
		delete(o, name)
	}
}

func contains(values list, s string) bool {
	for _, v := range values {
		if v == s {
			return true
		}
	}
	return false
}

// addToSet appends a member unless it exists.
func addToSet(o object, name, member string) {
	if !contains(items(o, name), member) {
		o[name] = append(items(o, name), member)
	}
}

func dropFromSet(o object, name, member string) {
	if !contains(items(o, name), member) {
		return
	}
	left := list{}
	for _, v := range items(o, name) {
		if v != member {
			left = append(left, v)
		}
	}
	o[name] = left
}

// changeConfig merges values into state.config.values, or replaces all of them. Without a config it
// does nothing.
func (r *reduction) changeConfig() {
	config := member(r.s, "config")
	values := member(r.a, "config")
	if config == nil || values == nil {
		return
	}
	if flag(r.a, "replace") || config["values"] == nil {
		config["values"] = values
		return
	}
	for k, v := range values {
		member(config, "values")[k] = v
	}
}
