package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ahphub/ahphub/hub/ahp/release"
)

// ErrAbsent reports that the published schemas are not next to the repository.
var ErrAbsent = errors.New("the published schemas of the protocol are not here: nothing is checked against them")

// Schema is the protocol of one version.
type Schema struct {
	Version string
	Base    string // the published schema it is derived from

	types   map[string]*Type
	names   []string
	origins map[string]Origin
	defs    object

	mu    sync.Mutex
	maker *jsonschema.Compiler
	made  map[string]*jsonschema.Schema
}

// bases lists for each version the published schema it is derived from, and the release up to which
// the delta is applied.
var bases = []struct{ from, base, upTo string }{
	{"1.0.0", "0.8-dev", "1.0.0"},
	{"0.9.0", "0.8-dev", "0.9.0"},
	{"0.8.0", "0.8-dev", "0.8.0"},
	{"0.7.0", "0.7.0", ""},
	{"0.6.0", "0.6.0", ""},
	{"0.5.0", "0.5.2", ""},
	{"0.4.0", "0.4.0", ""},
}

// Published lists the versions with a published schema, oldest first.
func Published() []string { return []string{"0.4.0", "0.5.2", "0.6.0", "0.7.0", "0.8-dev"} }

// Versions lists every version with its own schema, oldest first.
func Versions() []string {
	return []string{"0.4.0", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8-dev", "0.8.0", "0.9.0", "1.0.0"}
}

var (
	loadMu sync.Mutex
	loaded = map[string]*Schema{}
)

// For returns the schema of a version, or ErrAbsent without the published ones. "0.8-dev" is the
// last published schema, unchanged.
func For(version string) (*Schema, error) {
	loadMu.Lock()
	defer loadMu.Unlock()
	if s := loaded[version]; s != nil {
		return s, nil
	}
	s, err := load(version)
	if err == nil {
		loaded[version] = s
	}
	return s, err
}

// Need returns the schema of a version. Without the published ones it skips the test, or fails it
// if they are required.
func Need(t testing.TB, version string) *Schema {
	t.Helper()
	s, err := For(version)
	if errors.Is(err, ErrAbsent) && os.Getenv("AHPHUB_REQUIRE_SPEC") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(version string) (*Schema, error) {
	base, upTo := baseOf(version)
	defs, err := mended(base)
	if err != nil {
		return nil, err
	}
	s := &Schema{Version: version, Base: base, defs: defs}
	s.origins, s.made = map[string]Origin{}, map[string]*jsonschema.Schema{}
	if upTo != "" {
		changes, err := readDelta(delta)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if compare(c.Release, upTo) > 0 {
				continue
			}
			if err := c.apply(s.defs, s.origins); err != nil {
				return nil, fmt.Errorf("%s: %w", version, err)
			}
		}
	}
	if base == "0.5.2" && compare(version, base) < 0 {
		first, err := mended("0.4.0")
		if err != nil {
			return nil, err
		}
		takeBack(s.defs, first, version, base)
	}
	s.read()
	return s, s.prepare()
}

// takeBack derives an older version's definitions from those of the next published one. Definitions
// removed since come from the previous published schema.
func takeBack(defs, before object, version, base string) {
	for _, r := range release.Rows() {
		if compare(r.Release, version) <= 0 || compare(r.Release, base) > 0 {
			continue
		}
		def := child(defs, r.Of)
		switch {
		case r.Gone && r.Kind == release.Field:
			child(def, "properties")[r.Name] = child(child(before, r.Of), "properties")[r.Name]
			if slices.Contains(list(child(before, r.Of), "required"), any(r.Name)) {
				def["required"] = append(list(def, "required"), r.Name)
			}
		case r.Kind == release.Field:
			delete(child(def, "properties"), r.Name)
			def["required"] = slices.DeleteFunc(list(def, "required"), func(f any) bool { return f == r.Name })
		case r.Kind == release.Type:
			delete(defs, r.Name)
		case r.Kind == release.Variant:
			dropVariant(def, r.Name)
		case r.Kind == release.Action:
			delete(defs, ActionDef(r.Name))
			dropVariant(child(defs, "StateAction"), ActionDef(r.Name))
			dropVariant(child(defs, "ChatAction"), ActionDef(r.Name))
		}
	}
}

func dropVariant(union object, name string) {
	union["oneOf"] = slices.DeleteFunc(list(union, "oneOf"), func(v any) bool {
		return v.(object)["$ref"] == "#/$defs/"+name
	})
}

func baseOf(version string) (base, upTo string) {
	if version == "0.8-dev" {
		return version, ""
	}
	for _, b := range bases {
		if compare(b.from, version) <= 0 {
			return b.base, b.upTo
		}
	}
	return bases[len(bases)-1].base, ""
}

func compare(a, b string) int { return release.Compare(a, b) }

var (
	mendMu    sync.Mutex
	mendedOld = map[string]object{}
)

// mended returns the corrected definitions of a published schema. The caller may modify them: each
// version gets a copy, because parsing the large files again would be slow.
func mended(base string) (object, error) {
	mendMu.Lock()
	defer mendMu.Unlock()
	defs, err := mendOnce(base)
	if err != nil {
		return nil, err
	}
	return copyOf(defs).(object), nil
}

// mendOnce reads and corrects the definitions of a published schema; mendMu is held.
func mendOnce(base string) (object, error) {
	if defs := mendedOld[base]; defs != nil {
		return defs, nil
	}
	defs, err := published(base)
	if err != nil {
		return nil, err
	}
	var next object
	if newer := later[base]; newer != "" {
		if next, err = mendOnce(newer); err != nil {
			return nil, err
		}
	}
	repair(defs, next)
	mendedOld[base] = defs
	return defs, nil
}

// copyOf returns a deep copy of a decoded value.
func copyOf(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for key, e := range v {
			out[key] = copyOf(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyOf(e)
		}
		return out
	}
	return v
}

func published(base string) (object, error) {
	dir, err := findSchemas()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, base, "*.schema.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the schema of %s: %w", base, fs.ErrNotExist)
	}
	defs := object{}
	for _, file := range files { // actions first: only they have the complete StateAction
		if err := addDefinitions(defs, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return defs, nil
}

// addDefinitions adds a file's new definitions. Most exist already, because each file repeats what
// it refers to.
func addDefinitions(defs object, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	raw = bytes.ReplaceAll(raw, []byte("ResourceReponsePart"), []byte("ResourceResponsePart"))
	var all struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for name, def := range all.Defs {
		if defs[name] != nil {
			continue
		}
		if defs[name], err = jsonschema.UnmarshalJSON(bytes.NewReader(def)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// findSchemas finds shared/ahp/schema in a parent directory.
func findSchemas() (string, error) {
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

// Has reports whether the version has a definition.
func (s *Schema) Has(def string) bool { return s.types[def] != nil }

// Type returns a definition by name, nil for none.
func (s *Schema) Type(def string) *Type { return s.types[def] }

// Types returns every definition, sorted by name.
func (s *Schema) Types() []*Type {
	out := make([]*Type, len(s.names))
	for i, name := range s.names {
		out[i] = s.types[name]
	}
	return out
}

// Objects returns every definition that is an object, sorted by name.
func (s *Schema) Objects() []*Type {
	return slices.DeleteFunc(s.Types(), func(t *Type) bool { return t.Kind != Object })
}

// Actions returns the actions of the version, sorted by type.
func (s *Schema) Actions() []Action {
	var out []Action
	for _, v := range s.types["StateAction"].Variants {
		a := Action{Object: v}
		for _, one := range append([]*Type{v}, v.Variants...) {
			if values := one.Consts("type"); len(values) == 1 {
				a.Type = values[0].(string)
			}
		}
		a.Channel = channelOf(a.Type)
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Action) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

// Channels lists the kinds of channel with a state, sorted.
func (s *Schema) Channels() []string { return slices.Sorted(maps.Keys(s.States())) }

// States returns the state of each kind of channel.
func (s *Schema) States() map[string]*Type {
	out := map[string]*Type{}
	for _, kind := range []string{"root", "session", "chat", "terminal", "changeset", "annotations", "resourceWatch",
		"automation", "automationRun", "canvas"} {
		if t := s.types[pascal(kind)+"State"]; t != nil {
			out[kind] = t
		}
	}
	return out
}

// ActionDef returns the definition's name for an action type: SessionChatAddedAction for
// session/chatAdded.
func ActionDef(actionType string) string { return pascal(actionType) + "Action" }

// StateDef returns the name of the definition of a channel's state.
func StateDef(channel string) string { return pascal(channel) + "State" }

// notified maps the params of notifications to their methods; others are named after their method.
var notified = map[string]string{
	"SessionAddedParams": "root/sessionAdded", "SessionRemovedParams": "root/sessionRemoved",
	"SessionSummaryChangedParams": "root/sessionSummaryChanged", "ProgressParams": "root/progress",
	"AuthRequiredParams": "auth/required", "OtlpExportLogsParams": "otlp/exportLogs",
	"OtlpExportTracesParams": "otlp/exportTraces", "OtlpExportMetricsParams": "otlp/exportMetrics",
}

// Methods returns the commands and notifications of the version, sorted by name.
func (s *Schema) Methods() []Method {
	var out []Method
	for _, name := range s.names {
		verb, ok := strings.CutSuffix(name, "Params")
		if !ok || name == "BaseParams" || name == "PaginatedParams" {
			continue
		}
		method := notified[name]
		if method == "" {
			method = camel(verb)
		}
		out = append(out, Method{method, s.types[name], s.types[verb+"Result"]})
	}
	slices.SortFunc(out, func(a, b Method) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// ParamsDef returns the name of the definition of a method's params.
func ParamsDef(method string) string {
	for def, m := range notified {
		if m == method {
			return def
		}
	}
	return pascal(method) + "Params"
}

// ResultDef returns the name of the definition of a method's result.
func ResultDef(method string) string { return pascal(method) + "Result" }
