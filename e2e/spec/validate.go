package spec

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// prepare passes the definitions to the validator. The contents of envelopes and snapshots are left
// open: the caller knows which action or state they are, and validates them by their own
// definitions.
func (s *Schema) prepare() error {
	s.maker = jsonschema.NewCompiler()
	defs := object{}
	for name, def := range s.defs {
		defs[name] = s.compilable(def)
	}
	defs["StateAction"] = object{} // a refused action is returned as sent, whatever that was
	if snapshot := child(child(defs, "Snapshot"), "properties"); snapshot != nil {
		snapshot["state"] = object{"type": "object"}
	}
	return s.maker.AddResource("ahp.json", object{"$defs": defs})
}

func (s *Schema) compilable(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.compilable(e)
		}
		return out
	case object:
		if ref, ok := v["$ref"].(string); ok {
			if s.defs[strings.TrimPrefix(ref, "#/$defs/")] == nil {
				return object{}
			}
			return v
		}
		if variants := list(v, "oneOf"); variants != nil {
			return s.choice(variants)
		}
		out := maps.Clone(v)
		delete(out, "bits")
		for key, e := range out {
			out[key] = s.compilable(e)
		}
		return out
	}
	return v
}

// choice compiles a union by its discriminator, so that errors refer to the selected variant.
// Others become anyOf: the variants are open objects, and several may match.
func (s *Schema) choice(variants []any) object {
	compiled := s.compilable(variants).([]any)
	field := discriminator(s.defs, variants)
	if field == "" {
		return object{"anyOf": compiled}
	}
	var all, rules []any
	for i, v := range variants {
		values := constantsOf(s.defs, v.(object), field)
		all = append(all, values...)
		rules = append(rules, object{"if": object{"properties": object{field: object{"enum": values}}},
			"then": compiled[i]})
	}
	known := object{field: object{"enum": all}}
	return object{"type": "object", "required": []any{field}, "properties": known, "allOf": rules}
}

// Validate checks a value against a definition; an unknown definition is an error.
func (s *Schema) Validate(def string, raw []byte) error {
	if !s.Has(def) {
		return fmt.Errorf("%s has no %s", s.Version, def)
	}
	schema, err := s.compile(def)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("%s is no %s of %s: %w", raw, def, s.Version, err)
	}
	return nil
}

func (s *Schema) compile(def string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[def] == nil {
		made, err := s.maker.Compile("ahp.json#/$defs/" + def)
		if err != nil {
			return nil, err
		}
		s.made[def] = made
	}
	return s.made[def], nil
}
