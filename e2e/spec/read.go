package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// read creates the types from the definitions.
func (s *Schema) read() {
	s.types, s.names = map[string]*Type{}, slices.Sorted(maps.Keys(s.defs))
	for _, name := range s.names {
		s.types[name] = &Type{Name: name}
	}
	for _, name := range s.names {
		t, base := s.types[name], Origin{Mark: Exact, Source: "schema/" + s.Base}
		if o, ok := s.origins[name]; ok {
			base = o
		}
		t.Origin = base
		s.fill(t, child(s.defs, name), name)
		t.Open = (t.Enum != nil || t.Kind == Union) && !closed[name]
	}
}

// fill sets a type from its node. path is its name in the delta.
func (s *Schema) fill(t *Type, node object, path string) {
	switch {
	case node["const"] != nil:
		t.Kind, t.Enum = Kind(kindOf(node["const"])), []any{node["const"]}
	case node["enum"] != nil:
		t.Kind, t.Enum = Kind(kindOf(list(node, "enum")[0])), list(node, "enum")
	case node["oneOf"] != nil:
		s.fillUnion(t, node, path)
	case child(node, "properties") != nil:
		t.Kind = Object
		s.fillFields(t, node, path)
	case node["type"] == "object":
		t.Kind, t.Elem = Map, s.inPlace(child(node, "additionalProperties"), path, t.Origin)
	case node["type"] == "array":
		t.Kind, t.Elem = Array, s.inPlace(child(node, "items"), path, t.Origin)
	case node["type"] != nil:
		t.Kind = Kind(node["type"].(string))
	default:
		t.Kind = Any
	}
	if n, ok := node["minimum"].(json.Number); ok {
		low, _ := n.Int64()
		t.Minimum = &low
	}
	for _, bit := range list(node, "bits") {
		n, _ := bit.(json.Number).Int64()
		t.Bits = append(t.Bits, n)
	}
}

func (s *Schema) fillFields(t *Type, node object, path string) {
	properties := child(node, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		origin, ok := s.origins[path+"."+name]
		if !ok {
			origin = t.Origin
		}
		t.Fields = append(t.Fields, &Field{
			Name: name, Type: s.inPlace(child(properties, name), path+"."+name, origin),
			Required: slices.Contains(list(node, "required"), any(name)), Origin: origin,
		})
	}
}

func (s *Schema) fillUnion(t *Type, node object, path string) {
	variants := list(node, "oneOf")
	if values := constants(variants); values != nil {
		t.Kind, t.Enum = Kind(kindOf(values[0])), values
		return
	}
	t.Kind = Union
	for _, v := range variants {
		t.Variants = append(t.Variants, s.inPlace(v.(object), path, t.Origin))
	}
	t.Discriminator = discriminator(s.defs, variants)
}

// constants returns the values of a union of constants.
func constants(variants []any) (values []any) {
	for _, v := range variants {
		c := v.(object)["const"]
		if c == nil {
			return nil
		}
		values = append(values, c)
	}
	return values
}

// discriminator returns the field that has different constants in every variant.
func discriminator(defs object, variants []any) string {
	for _, field := range []string{"kind", "type", "status", "state", "approved"} {
		seen, whole := []any{}, len(variants) > 0
		for _, v := range variants {
			values := constantsOf(defs, v.(object), field)
			whole = whole && values != nil &&
				!slices.ContainsFunc(values, func(c any) bool { return slices.Contains(seen, c) })
			seen = append(seen, values...)
		}
		if whole {
			return field
		}
	}
	return ""
}

// constantsOf returns the values that a field may have in a variant, nil for any.
func constantsOf(defs, node object, field string) []any {
	if ref, ok := node["$ref"].(string); ok {
		node = child(defs, strings.TrimPrefix(ref, "#/$defs/"))
	}
	var values []any
	for _, v := range list(node, "oneOf") {
		more := constantsOf(defs, v.(object), field)
		if more == nil {
			return nil
		}
		values = append(values, more...)
	}
	f := child(child(node, "properties"), field)
	if c, ok := f["const"]; ok {
		return append(values, c)
	}
	return append(append(values, list(f, "enum")...), constants(list(f, "oneOf"))...)
}

// inPlace returns the type of a node in a definition: the referenced one, or an unnamed one.
func (s *Schema) inPlace(node object, path string, origin Origin) *Type {
	if ref, ok := node["$ref"].(string); ok {
		if t := s.types[strings.TrimPrefix(ref, "#/$defs/")]; t != nil {
			return t
		}
		return &Type{Kind: Any, Origin: origin}
	}
	t := &Type{Origin: origin}
	s.fill(t, node, path)
	t.Open = len(t.Enum) > 1 || t.Kind == Union
	return t
}
