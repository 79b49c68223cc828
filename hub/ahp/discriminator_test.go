package ahp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestConstantPropertiesAreWritten marshals the zero value of every type of the protocol: a
// property with one value in the schema, such as a plugin's type, is on the wire whether the type
// is in a union or not (AHP requirement 40).
func TestConstantPropertiesAreWritten(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/ahp/schema/0.8-dev/*.schema.json")
	if len(files) == 0 {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatal("the schema is required and absent")
		}
		t.Skip("the schema is not here")
	}
	types, checked := protocolTypes(), 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Defs map[string]struct {
				Properties map[string]struct{ Const any }
			} `json:"$defs"`
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for name, def := range f.Defs {
			for property, value := range def.Properties {
				if typ, ok := types[name]; ok && value.Const != nil {
					checked++
					checkConstant(t, typ, property, value.Const)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d properties were checked", checked)
	}
}

func checkConstant(t *testing.T, typ reflect.Type, property string, want any) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(mustJSON(t, reflect.New(typ).Interface())), &got); err != nil {
		t.Fatal(err)
	}
	if _, own := fieldNamed(typ, property); got[property] != want && !own {
		t.Errorf("%s is written with the %s %v, want %v", typ.Name(), property, got[property], want)
	}
}

// fieldNamed returns the field of a type for a property; a type for two constants has one.
func fieldNamed(typ reflect.Type, property string) (field, bool) {
	for _, f := range fieldsOf(typ) {
		if f.name == property {
			return f, true
		}
	}
	return field{}, false
}

// protocolTypes returns every struct below the states, the actions and the params of clients, by name.
func protocolTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, kind := range stateKinds {
		collectTypes(types, reflect.TypeOf(NewState(kind)))
	}
	for _, info := range Actions() {
		collectTypes(types, reflect.TypeOf(info.New()))
	}
	for u, info := range unionKinds {
		collectTypes(types, u)
		for _, v := range info.types {
			collectTypes(types, v)
		}
	}
	return types
}

func collectTypes(types map[string]reflect.Type, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || types[t.Name()] != nil || foreign(t) {
		return
	}
	types[t.Name()] = t
	for _, f := range fieldsOf(t) {
		collectTypes(types, f.typ)
	}
}
