package dialect

import "github.com/ahphub/ahphub/hub/ahp"

// step adapts between two adjacent versions.
type step struct {
	old, new Version
	up, down map[string]edit
	added    map[string][]string // optional fields that the old version lacks, by place: left out going down
	lost     []Loss
}

// Loss is a row of the table in docs/versions.md: what an older client does not see, or sees as something else.
type Loss struct{ What, Becomes string }

var steps = []*step{to050, to051, to052, to060, to070, to080, to090}

func (s *step) lower(c *Context, place string, o object) bool {
	return walk(place, o, func(place string, o object) bool {
		for _, f := range s.added[place] {
			delete(o, f)
		}
		e := s.down[place]
		return e == nil || e(c, o)
	})
}

func (s *step) raise(c *Context, place string, o object) bool {
	return walk(place, o, func(place string, o object) bool {
		e := s.up[place]
		return e == nil || e(c, o)
	})
}

// touches reports whether going down changes anything at a place or inside it.
func (s *step) touches(place string, seen map[string]bool) bool {
	if s.down[place] != nil || len(s.added[place]) > 0 {
		return true
	}
	seen[place] = true
	for _, of := range inside[place] {
		if !seen[of] && s.touches(of, seen) {
			return true
		}
	}
	return false
}

// introduced maps each action type to its first version.
var introduced = func() map[string]Version {
	m := map[string]Version{}
	for _, info := range ahp.Actions() {
		m[info.Type] = mustParse(info.Since)
	}
	return m
}()

// newer reports whether the action came after the version. Unknown actions of newer peers do not count.
func newer(actionType string, v Version) bool {
	since, ok := introduced[actionType]
	return ok && since.Compare(v) > 0
}
