package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ahphub/ahphub/hub/ahp"
)

// TestDowngradedFramesAreValid takes the states and actions of today's fixtures down to each version that has a schema.
func TestDowngradedFramesAreValid(t *testing.T) {
	inputs := slices.Concat(files(t, shared+"fixtures/1.0/reducers/*.json"), files(t, shared+"fixtures/1.0/derived/*.json"))
	for _, version := range []string{"0.4.0", "0.5.2", "0.6.0", "0.7.0", "0.8-dev"} {
		t.Run(version, func(t *testing.T) {
			s := loadSchema(t, version)
			d, checked := of(t, version), 0
			for _, file := range inputs {
				checked += s.checkFixture(t, d, file)
			}
			if checked < 500 {
				t.Errorf("only %d values were checked", checked)
			}
		})
	}
}

func (s *schema) checkFixture(t *testing.T, d *Dialect, file string) (checked int) {
	t.Helper()
	var f fixture
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(b, &f))
	c := Context{Resource: "ahp-session:/s", Session: "ahp-session:/s"}
	name := filepath.Base(file)
	state, err := ahp.UnmarshalState(f.Reducer, f.Initial)
	must(t, err)
	for _, raw := range f.Actions {
		a, err := ahp.UnmarshalAction(raw)
		must(t, err)
		if state = ahp.Reduce(state, a); strings.HasPrefix(a.ActionType(), "unknown") {
			continue
		}
		raw, err := ahp.MarshalAction(a)
		must(t, err)
		if down, ok := d.DownAction(c, raw); ok {
			checked += s.check(t, name, actionDef(down), down)
		}
	}
	raw, err := ahp.Marshal(state)
	must(t, err)
	down, err := d.DownState(c, f.Reducer, raw)
	must(t, err)
	return checked + s.check(t, name, pascal(string(f.Reducer))+"State", down)
}

// actionDef names the definition of an action: session/chatAdded is SessionChatAddedAction.
func actionDef(raw []byte) string {
	var a struct{ Type string }
	_ = json.Unmarshal(raw, &a)
	return pascal(a.Type) + "Action"
}

func pascal(s string) string {
	out := ""
	for _, word := range strings.Split(s, "/") {
		if word != "" {
			out += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return out
}

// schema is that of a version, patched where it was published wrong.
type schema struct {
	compiler *jsonschema.Compiler
	defs     object
	made     map[string]*jsonschema.Schema
}

func (s *schema) check(t *testing.T, file, def string, raw []byte) int {
	t.Helper()
	if s.defs[def] == nil {
		return 0
	}
	if s.made[def] == nil {
		made, err := s.compiler.Compile("ahp.json#/$defs/" + def)
		must(t, err)
		s.made[def] = made
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	must(t, err)
	if err := s.made[def].Validate(v); err != nil {
		t.Errorf("%s: %s: %v\n%s", file, def, err, raw)
	}
	return 1
}

func loadSchema(t *testing.T, version string) *schema {
	t.Helper()
	s := &schema{jsonschema.NewCompiler(), object{}, map[string]*jsonschema.Schema{}}
	for _, file := range files(t, shared+"schema/"+version+"/*.schema.json") {
		b, err := os.ReadFile(file)
		must(t, err)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
		must(t, err)
		for name, def := range v.(object)["$defs"].(object) {
			s.defs[name] = def
		}
	}
	for name, def := range s.defs {
		s.defs[name] = s.patch(def, 0, version <= "0.6.0")
		s.relax(name)
	}
	must(t, s.compiler.AddResource("ahp.json", object{"$defs": s.defs}))
	return s
}

// patch reads unions as anyOf, accepts anything where a reference leads nowhere, takes the session status for the bits
// it is, and in old versions accepts anything for the strings that nested objects came out with.
func (s *schema) patch(v any, depth int, nestedStrings bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.patch(v[i], depth, nestedStrings)
		}
	case object:
		if ref, ok := v["$ref"].(string); ok {
			name := ref[strings.LastIndex(ref, "/")+1:]
			if s.defs[name] == nil || name == "SessionStatus" {
				return object{}
			}
			return object{"$ref": "#/$defs/" + name}
		}
		if nestedStrings && depth > 1 && v["type"] == "string" {
			return object{}
		}
		if _, nested := v["properties"].(object); nested {
			depth++
		}
		for key, e := range v {
			v[key] = s.patch(e, depth, nestedStrings)
		}
		rename(v, "oneOf", "anyOf")
	}
	return v
}

// undefined are the fields that may be undefined and are listed as required.
var undefined = map[string]string{
	"ActionEnvelope": "origin", "Turn": "usage", "ActiveTurn": "usage", "SessionActivityChangedAction": "activity",
	"SessionChangesetsChangedAction": "changesets", "SessionMetaChangedAction": "_meta",
	"ChangesetOperationsChangedAction": "operations",
}

func (s *schema) relax(name string) {
	def, _ := s.defs[name].(object)
	if required, ok := def["required"].([]any); ok {
		def["required"] = slices.DeleteFunc(required, func(f any) bool { return f == undefined[name] })
	}
}
