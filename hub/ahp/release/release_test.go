package release_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp/release"
)

// held are the schemas that the table is compared with, and their releases: the five published
// ones, and those made from the written differences.
var held = []struct{ version, release string }{
	{"0.4.0", "0.4.0"}, {"0.5.2", "0.5.2"}, {"0.6.0", "0.6.0"}, {"0.7.0", "0.7.0"}, {"0.8-dev", "0.8.0"},
	{"0.8.0", "0.8.0"}, {"0.9.0", "0.9.0"}, {"1.0.0", "1.0.0"},
}

// thing is an element of a schema.
type thing struct {
	kind     release.Kind
	of, name string
}

func (w thing) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", w.kind, w.of, w.name))
}

func byName(a, b thing) int { return strings.Compare(a.String(), b.String()) }

// The table has every action, command, notification, type, field, variant and value of each schema, and no more
// (AHP requirement 22).
func TestReleasesAgreeWithTheSchemas(t *testing.T) {
	all := map[thing]bool{}
	for _, h := range held {
		maps.Copy(all, contents(spec.Need(t, h.version)))
	}
	for _, r := range release.Rows() {
		if w := (thing{r.Kind, r.Of, r.Name}); !all[w] {
			t.Errorf("%s, which the table has for %s, is in no schema", w, r.Release)
		}
	}
	for _, h := range held {
		s := spec.Need(t, h.version)
		has := contents(s)
		for _, w := range slices.SortedFunc(maps.Keys(all), byName) {
			switch {
			case w.of != "" && !s.Has(w.of), // a type is added and removed with all its elements
				h.version == "0.8-dev" && decided(w),
				h.version == "0.4.0" && w.kind == release.Value: // the values of its enums were not published
				continue
			}
			if got := release.In(h.release, w.kind, w.of, w.name); got != has[w] {
				t.Errorf("%s: the schema has it in %s: %v, the table says %v", w, h.version, has[w], got)
			}
		}
	}
}

// decided reports whether 0.8.0 added something after its published draft.
func decided(w thing) bool {
	return slices.ContainsFunc(release.Rows(), func(r release.Row) bool {
		return r.Release == "0.8.0" && r.Source == "delta-1.0.md" && w == thing{r.Kind, r.Of, r.Name}
	})
}

// contents lists the elements of a schema.
func contents(s *spec.Schema) map[thing]bool {
	out := map[thing]bool{}
	for _, a := range s.Actions() {
		out[thing{release.Action, "", a.Type}] = true
	}
	for _, m := range s.Methods() {
		kind := release.Command
		if strings.Contains(m.Name, "/") {
			kind = release.Notification
		}
		out[thing{kind, "", m.Name}] = true
	}
	for _, typ := range s.Types() {
		addType(out, typ)
	}
	return out
}

// addType lists a type and its elements. It omits unions of actions, because the actions are
// listed.
func addType(out map[thing]bool, typ *spec.Type) {
	isAction := strings.HasSuffix(typ.Name, "Action")
	if isAction && typ.Kind == spec.Union {
		return
	}
	if !isAction {
		out[thing{release.Type, "", typ.Name}] = true
	}
	for _, f := range typ.Fields {
		out[thing{release.Field, typ.Name, f.Name}] = true
	}
	for _, v := range typ.Variants {
		if v.Name != "" {
			out[thing{release.Variant, typ.Name, v.Name}] = true
		}
	}
	for _, v := range typ.Enum {
		out[thing{release.Value, typ.Name, fmt.Sprint(v)}] = true
	}
}

func TestVersionsAreOrdered(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"0.9.0", "0.10.0", -1}, {"0.5.1", "0.5.1", 0}, {"1.0.0", "0.10.0", 1}} {
		if got := release.Compare(c.a, c.b); got != c.want {
			t.Errorf("%s against %s gives %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// Each row names its source.
func TestRowsHaveSources(t *testing.T) {
	sources := []string{"registry", "changelog", "README.md", "delta-1.0.md", "schema/0.4.0", "schema/0.6.0",
		"schema/0.7.0", "schema/0.8-dev"}
	for _, r := range release.Rows() {
		if !slices.Contains(sources, r.Source) {
			t.Errorf("%s %s %s of %s is from %q", r.Kind, r.Of, r.Name, r.Release, r.Source)
		}
	}
}
