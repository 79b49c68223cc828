package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// TestDowngradedFramesAreValid converts the states and actions of current fixtures to each version
// that has a schema.
func TestDowngradedFramesAreValid(t *testing.T) {
	inputs := slices.Concat(files(t, shared+"fixtures/1.0/reducers/*.json"),
		files(t, shared+"fixtures/1.0/derived/*.json"))
	for _, version := range spec.Versions() {
		if version == "0.9.0" || version == "1.0.0" {
			continue // nothing is rewritten for them
		}
		t.Run(version, func(t *testing.T) {
			s := spec.Need(t, version)
			d, checked := of(t, version), 0
			for _, file := range inputs {
				checked += checkFixture(t, s, d, file)
			}
			if checked < 500 {
				t.Errorf("only %d values were checked", checked)
			}
		})
	}
}

func checkFixture(t *testing.T, s *spec.Schema, d *Dialect, file string) (checked int) {
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
			checked += check(t, s, name, spec.ActionDef(typeOf(down)), down)
		}
	}
	raw, err := ahp.Marshal(state)
	must(t, err)
	down, err := d.DownState(c, f.Reducer, raw)
	must(t, err)
	return checked + check(t, s, name, spec.StateDef(string(f.Reducer)), down)
}

func typeOf(action []byte) string {
	var a struct{ Type string }
	_ = json.Unmarshal(action, &a) // without a type it has no definition
	return a.Type
}

func check(t *testing.T, s *spec.Schema, file, def string, raw []byte) int {
	t.Helper()
	if !s.Has(def) {
		return 0
	}
	if err := s.Validate(def, raw); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return 1
}
