package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestKeepFieldsOfOldVersions takes the states of its fixtures up and down again.
func TestKeepFieldsOfOldVersions(t *testing.T) {
	for _, s := range specified {
		t.Run(s.dir, func(t *testing.T) {
			for _, file := range files(t, shared+"fixtures/"+s.dir+"/reducers/*.json") {
				keeps(t, s.version, file)
			}
		})
	}
	own, _ := filepath.Glob("testdata/*/*.json")
	for _, file := range own {
		keeps(t, filepath.Base(filepath.Dir(file)), file)
	}
}

func keeps(t *testing.T, version, file string) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	b, err := os.ReadFile(file)
	must(t, err)
	var f fixture
	must(t, json.Unmarshal(b, &f))
	for _, raw := range []json.RawMessage{f.Initial, f.Expected} {
		down, ok := throughState(of(t, version), f.Reducer, raw)
		if !ok {
			t.Errorf("%s cannot be read", name)
			continue
		}
		got, want := comparable(t, f.Reducer, down), comparable(t, f.Reducer, raw)
		if _, told := unsaid[name]; !told && !reflect.DeepEqual(got, want) {
			g, _ := encode(got)
			w, _ := encode(want)
			t.Errorf("%s %s\ngot  %s\nwant %s", version, name, g, w)
		}
	}
}

// unsaid are states that the current model cannot express although their version could, with the
// reason.
var unsaid = map[string]string{
	"126-session-modelchanged-with-modelconfig":                        noSessionModel,
	"148-session-agentchanged-clears-agent":                            noSessionModel,
	"149-session-agentchanged-replaces-agent":                          noSessionModel,
	"236-session-input-completion-without-active-turn-records-nothing": noAsker,
}
