package dialect

import (
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/release"
)

// pruner removes fields from decoded JSON at any depth.
type pruner struct {
	fields  map[string]map[string]bool // by their type
	touches map[*ahp.Shape]bool        // whether a value of the shape may have such a field
}

// newPruner returns a pruner of the fields for which drop is true, added after one release, and up
// to another unless "".
func newPruner(after, upTo string, drop func(release.Row) bool) *pruner {
	p := &pruner{map[string]map[string]bool{}, map[*ahp.Shape]bool{}}
	for _, r := range release.Rows() {
		tooLate := upTo != "" && release.Compare(r.Release, upTo) > 0
		if r.Kind != release.Field || r.Gone || release.Compare(r.Release, after) <= 0 || tooLate || !drop(r) {
			continue
		}
		if p.fields[r.Of] == nil {
			p.fields[r.Of] = map[string]bool{}
		}
		p.fields[r.Of][r.Name] = true
		p.touch(named[r.Of])
	}
	return p
}

// touch marks shapes, and all shapes that may contain them.
func (p *pruner) touch(shapes []*ahp.Shape) {
	for _, s := range shapes {
		if !p.touches[s] {
			p.touches[s] = true
			p.touch(holders[s])
		}
	}
}

// prune removes the fields from a value of the shape; nil is an unknown shape.
func (p *pruner) prune(s *ahp.Shape, v any) {
	if s == nil || !p.touches[s] {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			p.prune(s, e)
		}
	case object:
		if s.Key != "" {
			p.prune(s.Variants[text(v, s.Key)], v)
			return
		}
		for field := range p.fields[definition(s)] {
			delete(v, field)
		}
		for _, f := range s.Fields {
			if f.Kind == "map" {
				for _, e := range child(v, f.Name) {
					p.prune(f.Of, e)
				}
				continue
			}
			p.prune(f.Of, v[f.Name])
		}
	}
}

// definition returns the name of a shape's definition. A partial update has the fields of what it
// updates.
func definition(s *ahp.Shape) string { return strings.TrimPrefix(s.Name, "Partial") }

var (
	named   = map[string][]*ahp.Shape{}     // the shapes of each definition
	holders = map[*ahp.Shape][]*ahp.Shape{} // the shapes that may contain a shape
)

// learnShapes fills named and holders from the shapes of all places.
func learnShapes(shapes map[string]*ahp.Shape) map[string]*ahp.Shape {
	seen := map[*ahp.Shape]bool{}
	var learn func(s, holder *ahp.Shape)
	learn = func(s, holder *ahp.Shape) {
		if holder != nil {
			holders[s] = append(holders[s], holder)
		}
		if seen[s] {
			return
		}
		seen[s] = true
		named[definition(s)] = append(named[definition(s)], s)
		for _, v := range s.Variants {
			learn(v, s)
		}
		for _, f := range s.Fields {
			if f.Of != nil {
				learn(f.Of, s)
			}
		}
	}
	for _, s := range shapes {
		learn(s, nil)
	}
	return shapes
}
