package wire

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrAbsent reports that the published schemas are not beside the repository.
var ErrAbsent = errors.New("the published schemas of the protocol are not here: nothing is checked against them")

//go:embed schema
var later embed.FS

type object = map[string]any

// base names the published schema a version is checked against, and the releases that are put on top of it.
var bases = []struct {
	from, schema string
	later        []string
}{
	{"0.9.0", "0.8-dev", []string{"0.8.0", "1.0"}},
	{"0.8.0", "0.8-dev", []string{"0.8.0"}},
	{"0.7.0", "0.7.0", nil},
	{"0.6.0", "0.6.0", nil},
	{"0.5.0", "0.5.2", nil},
	{"0.4.0", "0.4.0", nil},
}

// Schema is that of one version, patched where it was published wrong.
type Schema struct {
	version string
	mu      sync.Mutex
	maker   *jsonschema.Compiler
	defs    object
	made    map[string]*jsonschema.Schema
	seen    map[uint64]bool // hashes of notifications found valid: many clients are sent the same
}

var (
	schemasMu sync.Mutex
	schemas   = map[string]*Schema{}
)

// For returns the schema of a version, ErrAbsent when the published ones are not here.
func For(version string) (*Schema, error) {
	schemasMu.Lock()
	defer schemasMu.Unlock()
	if s := schemas[version]; s != nil {
		return s, nil
	}
	s, err := load(version)
	if err == nil {
		schemas[version] = s
	}
	return s, err
}

func load(version string) (*Schema, error) {
	dir, err := published()
	if err != nil {
		return nil, err
	}
	base := bases[0]
	for _, b := range bases {
		if base = b; older(b.from, version) {
			break
		}
	}
	s := &Schema{version: version, maker: jsonschema.NewCompiler(), defs: object{}, made: map[string]*jsonschema.Schema{}, seen: map[uint64]bool{}}
	files, err := filepath.Glob(filepath.Join(dir, base.schema, "*.schema.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the schema of %s: %w", base.schema, fs.ErrNotExist)
	}
	for _, file := range files {
		if err := s.read(file); err != nil {
			return nil, err
		}
	}
	for _, release := range base.later {
		if err := s.extend(release); err != nil {
			return nil, err
		}
	}
	s.repair(base.schema <= "0.6.0")
	return s, s.maker.AddResource("ahp.json", object{"$defs": s.defs})
}

// older reports whether a is not newer than b; 0.10 comes after 0.9.
func older(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:]) <= 0
}

// published finds shared/ahp/schema beside a directory above.
func published() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", "ahp", "schema")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return "", ErrAbsent
		}
	}
	return "", err
}

func (s *Schema) read(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defs, _ := v.(object)["$defs"].(object)
	for name, def := range defs {
		s.defs[name] = def
	}
	return nil
}

// extend puts what a release changed on the definitions: fields and variants are added, those it drops are not, an
// enum is replaced.
func (s *Schema) extend(release string) error {
	raw, err := later.ReadFile("schema/" + release + ".json")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("schema/%s.json: %w", release, err)
	}
	for name, change := range v.(object) {
		def, known := s.defs[name].(object)
		if !known {
			s.defs[name] = change
			continue
		}
		merge(def, change.(object))
	}
	return nil
}

func merge(def, change object) {
	properties, _ := def["properties"].(object)
	required, _ := def["required"].([]any)
	dropped, _ := change["drop"].([]any)
	for _, field := range dropped {
		delete(properties, field.(string))
		required = slices.DeleteFunc(required, func(f any) bool { return f == field })
	}
	added, _ := change["properties"].(object)
	for field, schema := range added {
		properties[field] = schema
	}
	if more, ok := change["required"].([]any); ok {
		required = append(required, more...)
	}
	if required != nil {
		def["required"] = required
	}
	if enum, ok := change["enum"]; ok {
		def["enum"] = enum
	}
	if variants, ok := change["oneOf"].([]any); ok {
		have, _ := def["oneOf"].([]any)
		def["oneOf"] = append(have, variants...)
	}
}

// undefined are the fields that may be undefined and were published as required.
var undefined = map[string][]string{
	"ActionEnvelope": {"origin"}, "Turn": {"usage"}, "ActiveTurn": {"usage"}, "SessionActivityChangedAction": {"activity"},
	"SessionChangesetsChangedAction": {"changesets"}, "SessionMetaChangedAction": {"_meta"},
	"ChangesetOperationsChangedAction": {"operations"},
}

// repair undoes the known mistakes of the published schemas. Actions and states are left to Conn, which knows which
// one it has before it.
func (s *Schema) repair(nestedStrings bool) {
	s.defs["StateAction"] = object{}
	if snapshot, ok := s.defs["Snapshot"].(object); ok {
		snapshot["properties"].(object)["state"] = object{"type": "object"}
	}
	for name, def := range s.defs {
		s.defs[name] = s.patch(def, 0, nestedStrings)
		d, _ := s.defs[name].(object)
		if required, ok := d["required"].([]any); ok {
			d["required"] = slices.DeleteFunc(required, func(f any) bool { return slices.Contains(undefined[name], f.(string)) })
		}
	}
}

// patch reads unions of open objects as anyOf, accepts anything where a reference leads nowhere, takes the session
// status for the bits it is, and in old versions accepts anything for the strings that nested objects came out with.
func (s *Schema) patch(v any, depth int, nestedStrings bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.patch(v[i], depth, nestedStrings)
		}
	case object:
		if ref, ok := v["$ref"].(string); ok {
			return s.reference(ref)
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
		if union, ok := v["oneOf"]; ok {
			v["anyOf"] = union
			delete(v, "oneOf")
		}
	}
	return v
}

func (s *Schema) reference(ref string) any {
	name := ref[strings.LastIndex(ref, "/")+1:]
	switch {
	case name == "SessionStatus":
		return object{"type": "integer", "minimum": json.Number("0")}
	case s.defs[name] == nil:
		return object{}
	}
	return object{"$ref": "#/$defs/" + name}
}

// has reports whether the version knows a definition.
func (s *Schema) has(def string) bool { return s.defs[def] != nil }

// check validates a value against a definition; one the version does not know is an error.
func (s *Schema) check(def string, raw []byte) error {
	if !s.has(def) {
		return fmt.Errorf("%s has no %s", s.version, def)
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
		return fmt.Errorf("%s is no %s of %s: %w", raw, def, s.version, err)
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
