package dialect

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp/release"
)

// span is a range of versions on the same wire, from its first on.
type span struct {
	first string
	only  bool // no later patch belongs to it
}

// spans is the one table of what is spoken, highest first. Of 0.5 the first patches broke the wire twice, so each
// stands alone; 0.10.0 was never released and is met as itself.
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

// Supported lists the first version of each range that is spoken, highest first.
func Supported() []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = s.first
	}
	return out
}

// Of returns the dialect of a version, false when none is spoken. A later 1.x is spoken as 1.0: its minor versions
// add what clients of 1.0 ignore, and so do without.
func Of(v Version) (*Dialect, bool) {
	if v.Major == 1 && v.Minor > 0 {
		return dialects[0], true
	}
	return implementing(v)
}

// Implements reports whether a version is one of those that the host implements, and not only one that it can speak as
// another.
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

// dialects has one for each span.
var dialects = func() []*Dialect {
	for _, st := range steps {
		upTo := st.new.String()
		if st == to090 {
			upTo = "" // what came after 0.9 is sent to its clients, and left out here
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
		// whose keys are free
		out[i].later = newPruner(s.first, "", func(r release.Row) bool { return r.Name != "_meta" })
		slices.SortFunc(out[i].steps, func(a, b *step) int { return a.old.Compare(b.old) })
		out[i].learn()
	}
	return out
}()
