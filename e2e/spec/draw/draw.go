// Package draw generates random values of the protocol from a version's schema: states, and actions
// that mostly refer to parts of a state, so that reducers have something to do. The seed determines
// everything.
package draw

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/e2e/spec"
)

type (
	object = map[string]any
	list   = []any
)

// Drawer generates values of one version.
type Drawer struct {
	*rand.Rand
	schema  *spec.Schema
	actions map[string][]spec.Action

	// Unknown lets open enums and unions sometimes have values of later versions. Such values are
	// invalid by the schema, but must be preserved.
	Unknown bool
}

// New returns a Drawer for a schema.
func New(schema *spec.Schema, seed uint64) *Drawer {
	d := &Drawer{Rand: rand.New(rand.NewPCG(seed, 14)), schema: schema, actions: map[string][]spec.Action{}}
	for _, a := range schema.Actions() {
		d.actions[a.Channel] = append(d.actions[a.Channel], a)
	}
	return d
}

// Seed restarts the generator.
func (d *Drawer) Seed(seed uint64) { d.Rand = rand.New(rand.NewPCG(seed, 14)) }

// State generates a state of a kind of channel. It follows rules that a schema cannot express:
// identifiers are unique, and the status matches the activity.
func (d *Drawer) State(kind string) map[string]any {
	s := d.value(d.schema.States()[kind], kind, 0).(object)
	d.settle(kind, s)
	return s
}

// Action generates an action of a kind of channel for a state.
func (d *Drawer) Action(kind string, state map[string]any) map[string]any {
	of := d.actions[kind]
	action := of[d.IntN(len(of))]
	if state["activeTurn"] != nil && d.IntN(3) == 0 { // tool calls and questions are the most complex
		prefix := pick(d, []string{"chat/toolCall", "chat/toolCall", "chat/input"})
		action = pick(d, slices.DeleteFunc(slices.Clone(of), func(a spec.Action) bool {
			return !strings.HasPrefix(a.Type, prefix)
		}))
	}
	return d.ActionOf(action, state)
}

// Actions lists the actions of a kind of channel.
func (d *Drawer) Actions(kind string) []spec.Action { return d.actions[kind] }

// ActionOf generates an action of a type for a state.
func (d *Drawer) ActionOf(action spec.Action, state map[string]any) map[string]any {
	a := d.value(action.Object, "", 0).(object)
	a["type"] = action.Type
	d.aim(action, a, state)
	return a
}

const deepest = 7

// value generates a value of a type for a field with this name.
func (d *Drawer) value(t *spec.Type, name string, depth int) any {
	if len(t.Bits) > 0 {
		later := int64(0)
		if d.Unknown && d.IntN(10) == 0 {
			later = 256
		}
		return integer(t.Bits[d.IntN(4)] | t.Bits[d.IntN(len(t.Bits))]&96 | later)
	}
	if len(t.Enum) > 0 {
		return d.oneOf(t)
	}
	switch t.Kind {
	case spec.String:
		return d.text(name)
	case spec.Integer, spec.Number:
		return d.number(t, name)
	case spec.Boolean:
		return d.IntN(2) == 0
	case spec.Null:
		return nil
	case spec.Array:
		return d.array(t, name, depth)
	case spec.Map:
		return d.dictionary(t, depth)
	case spec.Object:
		return d.object(t, depth)
	case spec.Union:
		return d.variant(t, name, depth)
	}
	return d.anything(depth)
}

func (d *Drawer) oneOf(t *spec.Type) any {
	if t.Open && d.Unknown && t.Kind == spec.String && d.IntN(25) == 0 {
		return "later"
	}
	v := t.Enum[d.IntN(len(t.Enum))]
	return v
}

func (d *Drawer) object(t *spec.Type, depth int) object {
	o := object{}
	for _, f := range t.Fields {
		likely := 2
		if depth >= deepest {
			likely = 0
		}
		if f.Required || d.IntN(3) < likely && d.IntN(depth+2) < 2 {
			o[f.Name] = d.value(f.Type, f.Name, depth+1)
		}
	}
	return o
}

func (d *Drawer) variant(t *spec.Type, name string, depth int) any {
	if t.Open && d.Unknown && t.Discriminator != "" && t.Discriminator != "approved" && d.IntN(25) == 0 {
		return object{t.Discriminator: "later", "id": d.id(), "later": object{"deep": list{integer(1), nil, "x"}}}
	}
	variant := pick(d, t.Variants)
	if liked := favourites[name]; liked != nil && d.IntN(2) == 0 {
		favourite := pick(d, liked)
		for _, v := range t.Variants {
			if slices.Contains(v.Consts(t.Discriminator), any(favourite)) {
				variant = v
			}
		}
	}
	return d.value(variant, name, depth)
}

// favourites are the variants that reducers handle most, by field.
var favourites = map[string][]string{
	"responsePart": {"toolCall", "toolCall", "inputRequest"}, "customization": {"mcpServer"}, "children": {"mcpServer"},
}

func (d *Drawer) array(t *spec.Type, name string, depth int) list {
	n := d.IntN(4)
	if depth >= deepest {
		n = 0
	} else if name == "responseParts" {
		n += 2
	}
	out := list{}
	for range n {
		out = append(out, d.value(t.Elem, singular(name), depth+1))
	}
	return distinct(out)
}

func singular(name string) string { return strings.TrimSuffix(name, "s") }

// keys are the fields that identify an entry of a list.
var keys = []string{"id", "resource", "clientId", "commandId", "uri", "name"}

// distinct removes entries with the name of an earlier one.
func distinct(entries list) list {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e any) bool {
		name := nameOf(e)
		again := name != "" && seen[name]
		seen[name] = true
		return again
	})
}

func nameOf(e any) string {
	switch e := e.(type) {
	case string:
		return e
	case object:
		if id, ok := e["id"].(string); ok {
			return id
		}
		if call, ok := e["toolCall"].(object); ok {
			return nameOf(call["toolCallId"])
		}
		if request, ok := e["request"].(object); ok {
			return "request " + nameOf(request)
		}
		for _, key := range keys {
			if s, ok := e[key].(string); ok {
				return s
			}
		}
	}
	return ""
}

func (d *Drawer) dictionary(t *spec.Type, depth int) object {
	out := object{}
	if depth >= deepest {
		return out
	}
	for range d.IntN(3) {
		if t.Elem == nil || t.Elem.Kind == "" {
			out[d.id()] = d.anything(depth + 1)
			continue
		}
		out[d.id()] = d.value(t.Elem, "", depth+1)
	}
	return out
}

// anything generates a value that the protocol does not interpret.
func (d *Drawer) anything(depth int) any {
	switch n := d.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return d.IntN(2) == 0
	case n == 2:
		return json.Number("12345678901234567890")
	case n == 3:
		return json.Number("0.125")
	case n == 4 && depth < deepest:
		return list{d.anything(depth + 1), d.anything(depth + 1)}
	case n == 5 && depth < deepest:
		return object{"a": d.anything(depth + 1), "<b>": d.anything(depth + 1)}
	case n == 6:
		return integer(int64(d.IntN(10)) - 5)
	}
	return d.text("")
}

func (d *Drawer) id() string { return string(rune('a' + d.IntN(5))) }

// fractional lists the fields whose numbers may be fractions.
var fractional = []string{"safety", "value", "defaultValue"}

func (d *Drawer) number(t *spec.Type, name string) json.Number {
	switch {
	case slices.Contains(fractional, name) && d.IntN(2) == 0:
		return json.Number(strconv.FormatFloat(float64(d.IntN(9))/8, 'f', -1, 64))
	case name == "duration":
		return integer(int64(d.IntN(90_000)))
	case name == "timestamp":
		return integer(1_700_000_000_000 + int64(d.IntN(1000)))
	}
	low := int64(0)
	if t.Minimum != nil {
		low = *t.Minimum
	}
	return integer(low + int64(d.IntN(6)))
}

func integer(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// text generates a string for a field according to its name.
func (d *Drawer) text(name string) string {
	switch {
	case strings.HasSuffix(name, "At") || name == "scheduledFor" || name == "date":
		return d.moment()
	case name == "chat" || name == "defaultChat":
		return "ahp-chat:/" + d.id()
	case name == "session" || name == "primarySession":
		return "ahp-session:/" + d.id()
	case name == "directory" || name == "replacement" || name == "workingDirectorie" || name == "workingDirectory" ||
		name == "cwd":
		return "file:///" + d.id()
	case name == "uri" || name == "resource" || name == "url" || name == "src":
		return "x:/" + d.id()
	case slices.Contains([]string{"content", "data", "output", "text", "message", "title", "value"}, name):
		return []string{"", "text ", "é<&>\u2028\"\\\n", "🙂", "line\r\n"}[d.IntN(5)]
	}
	return d.id()
}

func (d *Drawer) moment() string {
	zone := []string{"Z", "Z", "Z", "-05:00"}[d.IntN(4)]
	return fmt.Sprintf("2026-02-%02dT%02d:%02d:%02d.%03d%s", 1+d.IntN(28), d.IntN(24), d.IntN(60), d.IntN(60),
		d.IntN(1000), zone)
}

// pick returns a random value.
func pick[T any](d *Drawer, from []T) T { return from[d.IntN(len(from))] }

// sortedKeys returns an object's keys in order, for reproducibility.
func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }
