package ahp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// fixtures returns the files of a directory under the shared specification, and skips the test where it is absent.
func fixtures(t *testing.T, dir string) []string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("../../../shared/ahp/fixtures", dir, "*.json"))
	if len(files) == 0 {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatalf("fixtures %s are required and absent", dir)
		}
		t.Skipf("fixtures %s are not here; the ones in testdata are run instead", dir)
	}
	return files
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type reducerFixture struct {
	Description string
	Reducer     ahp.ChannelKind
	Initial     json.RawMessage
	Actions     []json.RawMessage
	Expected    json.RawMessage
}

func TestReducerFixtures(t *testing.T) { // AHP requirements 148 and 149, among all reducers
	for _, dir := range []string{"1.0/reducers", "1.0/derived"} {
		t.Run(dir, func(t *testing.T) { runReducers(t, fixtures(t, dir)) })
	}
}

func TestOwnReducerFixtures(t *testing.T) { // AHP requirements 88 and 141, among all reducers
	files, _ := filepath.Glob("testdata/reducers/*.json")
	if len(files) == 0 {
		t.Fatal("no fixtures in testdata/reducers")
	}
	runReducers(t, files)
}

func runReducers(t *testing.T, files []string) {
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var f reducerFixture
			read(t, file, &f)
			s, err := ahp.UnmarshalState(f.Reducer, f.Initial)
			if err != nil {
				t.Fatal(err)
			}
			before := mustMarshal(t, s)
			for _, raw := range f.Actions {
				a, err := ahp.UnmarshalAction(raw)
				if err != nil {
					t.Fatal(err)
				}
				next := ahp.Reduce(s, a)
				if got := mustMarshal(t, s); got != before {
					t.Fatalf("%s wrote to its input\nwas %s\nnow %s", a.ActionType(), before, got)
				}
				s, before = next, mustMarshal(t, next)
			}
			if got, want := plain(t, []byte(before)), plain(t, f.Expected); !reflect.DeepEqual(got, want) {
				t.Errorf("%s\ngot  %s\nwant %s", f.Description, encode(got), encode(want))
			}
		})
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	b, err := ahp.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// plain decodes JSON without its nulls: in a fixture, null may stand for an absent key.
func plain(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return withoutNulls(v)
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

func encode(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
