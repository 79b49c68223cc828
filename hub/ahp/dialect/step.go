package dialect

import "github.com/ahphub/ahphub/hub/ahp/release"

// step adapts between two adjacent versions.
type step struct {
	old, new Version
	up, down map[string]edit
	converts []string // fields of the new version, "Type.field", that down converts
	lost     []Loss
	newer    *pruner // removes the fields of the new version, after down converted some
}

// Loss is a row of the table in docs/versions.md: what an older client does not get, or gets in
// another form.
type Loss struct{ What, Becomes string }

var steps = []*step{to050, to051, to052, to060, to070, to080, to090}

func (s *step) lower(c *Context, place string, o object) bool {
	kept := walk(place, o, func(place string, o object) bool {
		e := s.down[place]
		return e == nil || e(c, o)
	})
	s.newer.prune(shapeAt(place), o)
	return kept
}

func (s *step) raise(c *Context, place string, o object) bool {
	return walk(place, o, func(place string, o object) bool {
		e := s.up[place]
		return e == nil || e(c, o)
	})
}

// touches reports whether going down changes anything at a place or inside it.
func (s *step) touches(place string, seen map[string]bool) bool {
	if s.down[place] != nil || s.newer.touches[shapeAt(place)] {
		return true
	}
	seen[place] = true
	for _, of := range nestedPlaces[place] {
		if !seen[of] && s.touches(of, seen) {
			return true
		}
	}
	return false
}

// introduced maps each action, command and notification to its first version.
var introduced = func() map[string]Version {
	m := map[string]Version{}
	for _, r := range release.Rows() {
		if (r.Kind == release.Action || r.Kind == release.Command || r.Kind == release.Notification) && !r.Gone {
			m[r.Name] = mustParse(r.Release)
		}
	}
	return m
}()

// newer reports whether an action, command or notification was added after the version. Unknown
// names are not newer.
func newer(name string, v Version) bool {
	since, ok := introduced[name]
	return ok && since.Compare(v) > 0
}
