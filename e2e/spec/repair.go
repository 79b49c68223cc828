package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The published schemas have known mistakes: dangling references, a bitset listed as an enum,
// optional fields listed as required, constants true or false published as any value, a misspelled
// name, and unnamed objects whose fields all became strings. Missing parts are taken from the next
// schema that has them.

// later maps each published schema to the one that provides its missing parts.
var later = map[string]string{"0.4.0": "0.5.2", "0.5.2": "0.7.0", "0.6.0": "0.7.0"}

// undefined are the optional fields that were published as required.
var undefined = map[string][]string{
	"ActionEnvelope": {"origin"}, "Turn": {"usage"}, "ActiveTurn": {"usage"},
	"SessionActivityChangedAction":   {"activity"},
	"SessionChangesetsChangedAction": {"changesets"}, "SessionMetaChangedAction": {"_meta"},
	"ChangesetOperationsChangedAction": {"operations"},
}

// repair corrects the definitions; next are those of the later schema, nil for the newest.
func repair(defs, next object) {
	delete(defs, "")
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		def := defs[name].(object)
		if required := list(def, "required"); required != nil {
			def["required"] = slices.DeleteFunc(slices.Clone(required), func(f any) bool {
				return slices.Contains(undefined[name], f.(string))
			})
		}
		defs[name] = mend(defs, next, def, child(next, name), 0)
	}
	for name, approved := range map[string]bool{"ChatToolCallApprovedAction": true, "ChatToolCallDeniedAction": false} {
		child(child(defs, name), "properties")["approved"] = object{"const": approved}
	}
	defs["SessionStatus"] = object{"type": "integer", "minimum": json.Number("0"), "bits": []any{
		json.Number("1"), json.Number("2"), json.Number("8"), json.Number("24"), json.Number("32"), json.Number("64")}}
}

// mend returns a node without its mistakes. than is the later schema's node in the same place, nil
// for none.
func mend(defs, next, node, than object, depth int) object {
	if ref, ok := node["$ref"].(string); ok {
		return mendRef(defs, next, ref, than)
	}
	if depth > 1 && node["type"] == "string" && next != nil && than != nil && than["type"] != "string" {
		return borrow(defs, next, than)
	}
	out := maps.Clone(node)
	delete(out, "description")
	if properties, ok := node["properties"].(object); ok {
		mended := object{}
		for name, field := range properties {
			mended[name] = mend(defs, next, field.(object), child(child(than, "properties"), name), depth+1)
		}
		out["properties"] = mended
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := child(node, key); inner != nil {
			out[key] = mend(defs, next, inner, child(than, key), depth)
		}
	}
	if variants := said(node); variants != nil {
		mended := []any{}
		for i, v := range variants {
			mended = append(mended, mend(defs, next, v.(object), counterpart(v.(object), said(than), i), depth+1))
		}
		out["oneOf"] = mended
	}
	return out
}

// counterpart returns the later version of a union's variant: the one with the same fields, because
// others may have been inserted, otherwise the one at the same index.
func counterpart(variant object, later []any, i int) object {
	fields := slices.Sorted(maps.Keys(child(variant, "properties")))
	for _, v := range later {
		if l, _ := v.(object); len(fields) > 0 &&
			slices.Equal(fields, slices.Sorted(maps.Keys(child(l, "properties")))) {
			return l
		}
	}
	if i < len(later) {
		same, _ := later[i].(object)
		return same
	}
	return nil
}

// said returns the variants of a union. Some were published with an empty variant before them, and
// with null as an empty one after them.
func said(node object) (out []any) {
	variants := list(node, "oneOf")
	for i, v := range variants {
		switch v := v.(object); {
		case v["$ref"] == "#/$defs/" || len(v) == 0 && i == 0:
		case len(v) == 0:
			out = append(out, object{"type": "null"})
		default:
			out = append(out, v)
		}
	}
	return out
}

// mendRef keeps a valid reference. Others name an enum or one of its values, which the later schema
// has.
func mendRef(defs, next object, ref string, than object) object {
	name := strings.TrimPrefix(ref, "#/$defs/")
	if defs[name] != nil || name == "SessionStatus" {
		return object{"$ref": ref}
	}
	if name == "URI" {
		return object{"type": "string"}
	}
	if action, ok := strings.CutPrefix(name, "ActionType."); ok {
		return object{"const": actionType(action)}
	}
	if than != nil {
		return borrow(defs, next, than)
	}
	return object{}
}

// borrow copies a node of the later schema, including everything it refers to.
func borrow(defs, next, node object) object {
	if ref, ok := node["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		if defs[name] == nil && next[name] != nil {
			defs[name] = object{}
			defs[name] = borrow(defs, next, child(next, name))
		}
		return object{"$ref": ref}
	}
	out := maps.Clone(node)
	delete(out, "description")
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := child(node, key); inner != nil {
			out[key] = borrow(defs, next, inner)
		}
	}
	if properties, ok := node["properties"].(object); ok {
		copied := object{}
		for name, field := range properties {
			copied[name] = borrow(defs, next, field.(object))
		}
		out["properties"] = copied
	}
	if variants := list(node, "oneOf"); variants != nil {
		copied := []any{}
		for _, v := range variants {
			copied = append(copied, borrow(defs, next, v.(object)))
		}
		out["oneOf"] = copied
	}
	return out
}

var channels = []string{"Root", "Session", "Chat", "Terminal", "Changeset", "Annotations", "ResourceWatch"}

// actionType converts the name of an action to its type: SessionChatAdded to session/chatAdded.
func actionType(name string) string {
	for _, c := range channels {
		if rest, ok := strings.CutPrefix(name, c); ok && rest != "" {
			if c == "Changeset" || rest[0] >= 'A' && rest[0] <= 'Z' {
				return camel(c) + "/" + camel(rest)
			}
		}
	}
	return name
}
