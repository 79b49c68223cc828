package draw

import (
	"encoding/json"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
)

// TestDrawnValuesAreValid validates generated states and actions of every version against its
// schema.
func TestDrawnValuesAreValid(t *testing.T) {
	for _, version := range spec.Versions() {
		s := spec.Need(t, version)
		d := New(s, 1)
		for _, kind := range s.Channels() {
			for range 8 {
				state := d.State(kind)
				validate(t, s, spec.StateDef(kind), state)
				for _, action := range d.Actions(kind) {
					validate(t, s, spec.ActionDef(action.Type), d.ActionOf(action, state))
				}
			}
		}
	}
}

func validate(t *testing.T, s *spec.Schema, def string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = s.Validate(def, b)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeedDecidesEverything(t *testing.T) {
	s := spec.Need(t, "1.0.0")
	draw := func() string {
		d := New(s, 7)
		state := d.State("chat")
		b, err := json.Marshal([]any{state, d.Action("chat", state)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := draw(), draw(); a != b {
		t.Errorf("one seed drew\n%s\nand\n%s", a, b)
	}
}
