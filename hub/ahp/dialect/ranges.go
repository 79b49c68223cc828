package dialect

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp/release"
)

// span is a range of versions with one wire format, from its first on.
type span struct {
	first string
	only  bool // no later patch belongs to it
}

// spans is the one table of supported versions, highest first. The first patches of 0.5 broke the
// wire format twice, so each has its own range; 0.10.0 was never released and has its own, too.
var spans = []span{
	{first: "1.0.0"},
	{first: "0.10.0", only: true},
	{first: "0.9.0"},
	{first: "0.8.0"},
	{first: "0.7.0"},
	{first: "0.6.0"},
	{first: "0.5.2"},
	{first: "0.5.1", only: true},
	{first: "0.5.0", only: true},
	{first: "0.4.0"},
}

// Supported returns the first version of each supported range, highest first.
func Supported() []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = s.first
	}
	return out
}

// Of returns the dialect of a version, false if it is not supported. A later 1.x counts as 1.0:
// minor versions only add what clients of 1.0 ignore.
func Of(v Version) (*Dialect, bool) {
	if v.Major == 1 && v.Minor > 0 {
		return dialects[0], true
	}
	return implementing(v)
}

// Implements reports whether the host implements a version itself, and not only as another one.
func Implements(v Version) bool {
	_, ok := implementing(v)
	return ok
}

func implementing(v Version) (*Dialect, bool) {
	for i, s := range spans {
		first := mustParse(s.first)
		if v.Major == first.Major && v.Minor == first.Minor && (v.Patch == first.Patch || !s.only &&
			v.Patch > first.Patch) {
			return dialects[i], true
		}
	}
	return nil, false
}

// dialects has a dialect for each span.
var dialects = func() []*Dialect {
	for _, st := range steps {
		upTo := st.new.String()
		if st == to090 {
			upTo = "" // 0.9 clients get later fields, older ones do not
		}
		st.newer = newPruner(st.old.String(), upTo, func(release.Row) bool { return true })
	}
	out := make([]*Dialect, len(spans))
	for i, s := range spans {
		out[i] = &Dialect{name: s.first, version: mustParse(s.first)}
		for _, st := range steps {
			if st.old.Compare(out[i].version) >= 0 {
				out[i].steps = append(out[i].steps, st)
			}
		}
		// _meta has any keys
		out[i].later = newPruner(s.first, "", func(r release.Row) bool { return r.Name != "_meta" })
		slices.SortFunc(out[i].steps, func(a, b *step) int { return a.old.Compare(b.old) })
		out[i].learn()
	}
	return out
}()
