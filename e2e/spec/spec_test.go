package spec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every definition of every version compiles, and every union distinguishes its variants by a field
// or by their kinds.
func TestEveryVersionIsComplete(t *testing.T) {
	for _, version := range Versions() {
		s := Need(t, version)
		for _, typ := range s.Types() {
			if version == "0.4.0" || version == "1.0.0" { // the others have no other definitions
				if _, err := s.compile(typ.Name); err != nil {
					t.Error(err)
				}
			}
			if typ.Kind == Any {
				t.Errorf("%s: %s may be anything", version, typ.Name)
			}
			if typ.Kind == Union && typ.Discriminator == "" && !slices.Contains(byKind, typ.Name) {
				t.Errorf("%s: the variants of %s cannot be told apart", version, typ.Name)
			}
			for _, f := range typ.Fields {
				if f.Type.Kind == Any && f.Name != "default" { // the default of a setting may have any value of its type
					t.Errorf("%s: %s.%s may be anything", version, typ.Name, f.Name)
				}
			}
		}
	}
}

// byKind are the unions without a discriminator, such as of a string and an object, and a list of
// notification params that is not a value's type.
var byKind = []string{"JsonPrimitive", "StringOrMarkdown", "ToolInput", "ProtocolNotification"}

func TestActionsAndStatesOfVersions(t *testing.T) {
	for version, want := range map[string]struct{ actions, states int }{
		"0.4.0": {73, 7}, "0.5.0": {73, 7}, "0.5.1": {76, 7}, "0.5.2": {79, 7}, "0.6.0": {81, 7}, "0.7.0": {85, 7},
		"0.8-dev": {85, 7}, "0.8.0": {86, 7}, "0.9.0": {96, 9}, "1.0.0": {106, 10},
	} {
		s := Need(t, version)
		if got := len(s.Actions()); got != want.actions {
			t.Errorf("%s has %d actions, want %d", version, got, want.actions)
		}
		if got := len(s.Channels()); got != want.states {
			t.Errorf("%s has the states %v, want %d", version, s.Channels(), want.states)
		}
		for _, a := range s.Actions() {
			if s.Type(ActionDef(a.Type)) != a.Object || s.States()[a.Channel] == nil {
				t.Errorf("%s: the action %s on %q has no definition or no state", version, a.Type, a.Channel)
			}
		}
	}
}

func TestMarksAreKept(t *testing.T) {
	s := Need(t, "1.0.0")
	f := s.Type("Annotation").Field("origin")
	if want := (Origin{"0.9.0", Exact, "delta-1.0.md, 8 annotations"}); f.Origin != want || !f.Required {
		t.Errorf("Annotation.origin is %+v, want required and %+v", f.Origin, want)
	}
	if f := s.Type("SessionChatUpdatedAction").Field("changes").Type.Field("movable"); f.Release != "1.0.0" {
		t.Errorf("movable of session/chatUpdated came in %q, want 1.0.0", f.Release)
	}
	if typ := s.Type("BackgroundWork"); typ.Discriminator != "kind" || !typ.Open || len(typ.Variants) != 2 {
		t.Errorf("BackgroundWork is %+v, want an open union of two by kind", typ)
	}
	if f := s.Type("Turn").Field("error"); f != nil {
		t.Errorf("Turn has the field error, want it gone since 0.9")
	}
}

func TestDeltaRefusesMismatches(t *testing.T) {
	for line, want := range map[string]string{
		"+ Turn { id: string }":    "is it there before",
		"~ Nobody { id: string }":  "is it there before",
		"- Nobody":                 "is it there before",
		"~ Turn { -nothing }":      "no nothing to drop",
		"~ Turn { id: String }":    "",
		"~ Turn { id string }":     "is no field",
		"~ Turn { id: 'a' | URI }": "mixes",
		"~ Turn { id: what? }":     "is no type",
	} {
		changes, err := readDelta("@ 1.0.0 exact 1 x\n" + line)
		if err != nil {
			t.Fatal(err)
		}
		defs := object{"Turn": object{"type": "object", "properties": object{"id": object{"type": "string"}}}}
		err = changes[0].apply(defs, map[string]Origin{})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", line, err, want)
		}
	}
	for _, text := range []string{"+ A { }", "@ 1.0.0 sure 1 x", "@ 1.0.0 exact 1 x\n* A"} {
		if _, err := readDelta(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// deliberate are fixtures with values of future versions, which a reducer must leave unchanged.
var deliberate = []string{"284-chat-backgroundworkremoved-removes-unknown-kind.json"}

// The schema of a version allows the states and actions of its fixtures.
func TestFixturesAreValid(t *testing.T) {
	for dir, version := range map[string]string{
		"0.4.0/reducers": "0.4.0", "0.5.2/reducers": "0.5.2", "0.6.0/reducers": "0.6.0", "0.7.0/reducers": "0.7.0",
		"0.8-dev/reducers": "0.8-dev", "1.0/reducers": "1.0.0", "1.0/derived": "1.0.0",
	} {
		s := Need(t, version)
		schemas, err := findSchemas()
		if errors.Is(err, ErrAbsent) {
			t.Skip(err)
		}
		files, _ := filepath.Glob(filepath.Join(schemas, "../fixtures", dir, "*.json"))
		if len(files) == 0 {
			t.Errorf("no fixtures in %s", dir)
		}
		for _, file := range files {
			if err := validFixture(s, file); err != nil && !slices.Contains(deliberate, filepath.Base(file)) {
				t.Errorf("%s %s: %.600s", version, filepath.Base(file), err)
			}
		}
	}
}

func validFixture(s *Schema, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var f struct {
		Reducer           string
		Initial, Expected json.RawMessage
		Actions           []json.RawMessage
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	for _, state := range []json.RawMessage{f.Initial, f.Expected} {
		if err := s.validate(StateDef(f.Reducer), state); err != nil {
			return err
		}
	}
	for _, action := range f.Actions {
		var a struct{ Type string }
		if err := json.Unmarshal(action, &a); err != nil {
			return err
		}
		if !s.Has(ActionDef(a.Type)) {
			continue // unknown on purpose
		}
		if err := s.validate(ActionDef(a.Type), action); err != nil {
			return err
		}
	}
	return nil
}

// validate accepts a null in a fixture as null or as an absent property.
func (s *Schema) validate(def string, raw json.RawMessage) error {
	if s.Validate(def, raw) == nil {
		return nil
	}
	return s.Validate(def, withoutNulls(raw))
}

func withoutNulls(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	var drop func(v any)
	drop = func(v any) {
		switch v := v.(type) {
		case object:
			for k, e := range v {
				if e == nil {
					delete(v, k)
				}
				drop(e)
			}
		case []any:
			for _, e := range v {
				drop(e)
			}
		}
	}
	drop(v)
	out, _ := json.Marshal(v)
	return out
}
