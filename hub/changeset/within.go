package changeset

import (
	"path/filepath"
	"slices"
	"strings"
)

// Within limits a checkpoint to what lies in some directories, given with their links resolved.
// What is compared with it
// is limited in the same way.
func (c Checkpoint) Within(dirs []string) (out Checkpoint) {
	var roots []string
	for _, t := range c.Trees {
		roots = append(roots, filepath.Join(t.Top, filepath.FromSlash(t.Prefix)))
	}
	for i, t := range c.Trees {
		for _, d := range outermost(dirs) {
			switch root := roots[i]; {
			case inside(root, d):
				out.Trees = append(out.Trees, t)
			case innermost(d, roots) == root:
				out.Trees = append(out.Trees, t.below(d))
			}
		}
	}
	return out
}

// below limits a tree to a directory in it.
func (t Tree) below(dir string) Tree {
	rel, err := filepath.Rel(t.Top, dir)
	if err != nil {
		return t
	}
	t.Prefix = filepath.ToSlash(rel)
	t.Skipped = t.skippedBelow(t.Prefix)
	return t
}

func (t Tree) skippedBelow(prefix string) []Skipped {
	if prefix == "" {
		return t.Skipped
	}
	return slices.DeleteFunc(slices.Clone(t.Skipped),
		func(s Skipped) bool { return !strings.HasPrefix(s.Path, prefix+"/") })
}
