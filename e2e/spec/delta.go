package spec

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]any

//go:embed delta-1.0.txt
var delta string

// change is one line of a delta.
type change struct {
	Origin
	verb byte   // + new, ~ changed, - removed
	name string // of the definition, with the field after a dot for a nested object
	text string // text after the name
}

var head = regexp.MustCompile(`^([+~-]) (\w+(?:\.\w+)?)\s*(.*)$`)

// readDelta parses a delta; the first lines of delta-1.0.txt describe the syntax.
func readDelta(text string) (out []change, err error) {
	var at Origin
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if section, ok := strings.CutPrefix(line, "@ "); ok {
			f := strings.SplitN(section, " ", 3)
			if len(f) != 3 || !slices.Contains([]Mark{Exact, Near, Unsure}, Mark(f[1])) {
				return nil, fmt.Errorf("line %d: %q is no release, mark and section", n+1, line)
			}
			at = Origin{f[0], Mark(f[1]), "delta-1.0.md, " + f[2]}
			continue
		}
		m := head.FindStringSubmatch(line)
		if m == nil || at.Release == "" {
			return nil, fmt.Errorf("line %d: %q is no change", n+1, line)
		}
		out = append(out, change{at, m[1][0], m[2], m[3]})
	}
	return out, nil
}

// apply applies the change to the definitions.
func (c change) apply(defs object, origins map[string]Origin) error {
	name, inside, _ := strings.Cut(c.name, ".")
	def, known := defs[name].(object)
	if inside != "" {
		def = child(child(def, "properties"), inside)
		known = def != nil
	}
	if known != (c.verb != '+') {
		return fmt.Errorf("%c %s: is it there before? %v", c.verb, c.name, known)
	}
	var err error
	switch {
	case c.verb == '-':
		delete(defs, c.name)
	case strings.HasPrefix(c.text, "{"):
		if !known {
			def = object{"type": "object", "properties": object{}}
			defs[c.name], origins[c.name] = def, c.Origin
		}
		err = c.fields(def, origins)
	case c.verb == '+':
		defs[c.name], err = parseUnion(strings.TrimPrefix(c.text, "= "))
		origins[c.name] = c.Origin
	case strings.HasPrefix(c.text, "= "):
		var all object
		if all, err = parseType(c.text[2:]); err == nil {
			def["enum"] = all["enum"]
		}
	default:
		err = c.extend(def)
	}
	if err != nil {
		return fmt.Errorf("%c %s: %w", c.verb, c.name, err)
	}
	return nil
}

// extend adds variants or values.
func (c change) extend(def object) error {
	more, err := parseType(strings.TrimPrefix(c.text, "+ "))
	if err != nil {
		return err
	}
	values := list(more, "enum")
	if one, ok := more["const"]; ok {
		values = []any{one}
	}
	if values != nil {
		def["enum"] = append(slices.Clone(list(def, "enum")), values...)
		return nil
	}
	variants := list(more, "oneOf")
	if variants == nil {
		variants = []any{more}
	}
	def["oneOf"] = append(slices.Clone(list(def, "oneOf")), variants...)
	return nil
}

var fieldOf = regexp.MustCompile(`^(\w+)(\??): (.+)$`)

func (c change) fields(def object, origins map[string]Origin) error {
	properties, required := child(def, "properties"), list(def, "required")
	body := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(c.text, "{"), "}"))
	for _, part := range split(body, ',') {
		name, gone := strings.CutPrefix(part, "-")
		m := fieldOf.FindStringSubmatch(part)
		if m != nil {
			name = m[1]
		}
		required = slices.DeleteFunc(slices.Clone(required), func(f any) bool { return f == name })
		switch {
		case gone:
			if properties[name] == nil {
				return fmt.Errorf("there is no %s to drop", name)
			}
			delete(properties, name)
			continue
		case m == nil:
			return fmt.Errorf("%q is no field", part)
		}
		t, err := parseType(m[3])
		if err != nil {
			return err
		}
		properties[name], origins[c.name+"."+name] = t, c.Origin
		if m[2] == "" {
			required = append(required, name)
		}
	}
	if required != nil {
		def["required"] = required
	}
	return nil
}

// parseUnion parses the type of a definition: one variant is also a union.
func parseUnion(s string) (object, error) {
	t, err := parseType(s)
	if _, one := t["$ref"]; one {
		t = object{"oneOf": []any{t}}
	}
	return t, err
}

// split splits a list at a separator outside of brackets and quotes.
func split(s string, at byte) (out []string) {
	depth, start, quoted := 0, 0, false
	for i := range len(s) {
		switch {
		case s[i] == '\'':
			quoted = !quoted
		case quoted:
		case s[i] == '<':
			depth++
		case s[i] == '>' && s[i-1] != 'r': // integer>=0 has no bracket
			depth--
		case s[i] == at && depth == 0:
			out, start = append(out, strings.TrimSpace(s[start:i])), i+1
		}
	}
	if last := strings.TrimSpace(s[start:]); last != "" {
		out = append(out, last)
	}
	return out
}

// parseType converts a type of a delta to JSON Schema.
func parseType(s string) (object, error) {
	if parts := split(s, '|'); len(parts) > 1 {
		var values, variants []any
		for _, part := range parts {
			t, err := parseType(part)
			if err != nil {
				return nil, err
			}
			if v, ok := t["const"]; ok {
				values = append(values, v)
			} else {
				variants = append(variants, t)
			}
		}
		switch {
		case values == nil:
			return object{"oneOf": variants}, nil
		case variants == nil:
			return object{"type": kindOf(values[0]), "enum": values}, nil
		}
		return nil, fmt.Errorf("%q mixes values and types", s)
	}
	s = strings.TrimSpace(s)
	if of, ok := strings.CutSuffix(s, "[]"); ok {
		t, err := parseType(of)
		return object{"type": "array", "items": t}, err
	}
	if of, ok := strings.CutPrefix(s, "map<"); ok && strings.HasSuffix(of, ">") {
		t, err := parseType(strings.TrimSuffix(of, ">"))
		return object{"type": "object", "additionalProperties": t}, err
	}
	return parseName(s)
}

var word = regexp.MustCompile(`^[A-Z]\w*$`)

func parseName(s string) (object, error) {
	base, low, bounded := strings.Cut(s, ">=")
	switch {
	case strings.HasPrefix(s, "'") && strings.HasSuffix(s, "'") && len(s) > 2:
		return object{"const": s[1 : len(s)-1]}, nil
	case s == "true":
		return object{"const": true}, nil
	case strings.HasPrefix(s, "-32"):
		return object{"const": json.Number(s)}, nil
	case bounded && (base == "integer" || base == "number"):
		return object{"type": base, "minimum": json.Number(low)}, nil
	case slices.Contains([]string{"string", "boolean", "integer", "number"}, s):
		return object{"type": s}, nil
	case s == "any":
		return object{}, nil
	case word.MatchString(s):
		return object{"$ref": "#/$defs/" + s}, nil
	}
	return nil, fmt.Errorf("%q is no type", s)
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	}
	return "null"
}

func child(o object, key string) object {
	c, _ := o[key].(object)
	return c
}

func list(o object, key string) []any {
	l, _ := o[key].([]any)
	return l
}
