package dialect

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/release"
)

// fixture is a test of a reducer in the format of its version.
type fixture struct {
	Description string
	Reducer     ahp.ChannelKind
	Initial     json.RawMessage
	Actions     []json.RawMessage
	Expected    json.RawMessage
}

// specified are the directories of fixtures and their dialects.
var specified = []struct{ dir, version string }{
	{"0.4.0", "0.4.0"}, {"0.5.2", "0.5.2"}, {"0.6.0", "0.6.0"}, {"0.7.0", "0.7.0"}, {"0.8-dev", "0.8-dev"},
}

const shared = "../../../../shared/ahp/"

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatalf("%s is required and absent", pattern)
		}
		t.Skipf("%s is not here; what is in testdata is run instead", pattern)
	}
	return found
}

// TestFixturesOfOldVersions runs each old version's fixtures with the current model: up, reduce,
// down.
func TestFixturesOfOldVersions(t *testing.T) {
	for _, s := range specified {
		t.Run(s.dir, func(t *testing.T) {
			set := setAside[s.dir]
			all := files(t, shared+"fixtures/"+s.dir+"/reducers/*.json")
			if len(set)*20 > len(all) {
				t.Errorf("%d of %d are set aside: that is more than 5 in 100", len(set), len(all))
			}
			for _, file := range all {
				name := strings.TrimSuffix(filepath.Base(file), ".json")
				t.Run(name, func(t *testing.T) {
					diff := runFixture(t, file, s.version)
					switch why, aside := set[name]; {
					case aside && diff == "":
						t.Errorf("passes, and is set aside: %s", why)
					case aside:
						t.Skip(why)
					case diff != "":
						t.Error(diff)
					}
				})
			}
		})
	}
}

func TestOwnFixtures(t *testing.T) {
	all, _ := filepath.Glob("testdata/*/*.json")
	if len(all) == 0 {
		t.Fatal("no fixtures in testdata")
	}
	for _, file := range all {
		t.Run(file, func(t *testing.T) {
			if diff := runFixture(t, file, filepath.Base(filepath.Dir(file))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// runFixture returns the difference, or "".
func runFixture(t *testing.T, file, version string) string {
	t.Helper()
	var f fixture
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(b, &f))
	d := of(t, version)
	c := Context{Resource: "ahp-session:/s", Session: "ahp-session:/s", Now: time.UnixMilli(9999)}
	up, err := d.UpState(c, f.Reducer, f.Initial)
	must(t, err)
	state, err := ahp.UnmarshalState(f.Reducer, up)
	must(t, err)
	for _, raw := range f.Actions {
		c.State = state
		up, err := d.UpAction(c, raw)
		if err != nil {
			continue // refused: nothing changes
		}
		a, err := ahp.UnmarshalAction(up)
		must(t, err)
		state = ahp.Reduce(state, a)
	}
	raw, err := ahp.Marshal(state)
	must(t, err)
	down, err := d.DownState(c, f.Reducer, raw)
	must(t, err)
	got, want := comparable(t, f.Reducer, down), comparable(t, f.Reducer, f.Expected)
	if reflect.DeepEqual(got, want) {
		return ""
	}
	g, _ := encode(got)
	w, _ := encode(want)
	return f.Description + "\ngot  " + string(g) + "\nwant " + string(w)
}

func of(t testing.TB, version string) *Dialect {
	t.Helper()
	if version == "0.8-dev" {
		return dev08(of(t, "0.7.0"))
	}
	d, ok := Of(mustParse(version))
	if !ok {
		t.Fatalf("%s is not spoken", version)
	}
	return d
}

// dev08 is the draft of 0.8.0 that the fixtures are from: customizations are enabled as in 0.7.0,
// but a tool that waits for a client no longer sets InputNeeded.
func dev08(d *Dialect) *Dialect {
	draft := *to080
	draft.down = maps.Clone(draft.down)
	delete(draft.down, "session")
	later := newPruner("0.8.0", "", func(r release.Row) bool { return r.Name != "_meta" })
	return &Dialect{name: "0.8-dev", version: d.version, steps: []*step{&draft, to090}, later: later}
}

// comparable decodes a state without values that cannot be compared: nulls stand for absent keys,
// and times in old states are those of a mocked clock.
func comparable(t *testing.T, kind ahp.ChannelKind, b []byte) any {
	t.Helper()
	v, err := decode(b)
	must(t, err)
	o, ok := withoutNulls(v).(object)
	if !ok {
		t.Fatalf("%s is no object", b)
	}
	if kind == ahp.ChannelChat {
		delete(o, "modifiedAt")
	}
	if s := child(o, "summary"); s != nil { // a current session has neither its times nor its name
		for _, f := range []string{"resource", "createdAt", "modifiedAt"} {
			delete(s, f)
		}
	}
	return o
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	case json.Number: // 0.0 and 0 are one number
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
