package changeset

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// distinct cleans directories and drops those inside another one, whose files would count twice. A
// directory that is its own repository stays: its files do not belong to the outer one.
func distinct(dirs []string) (out []string, err error) {
	all := make([]string, len(dirs))
	for i, d := range dirs {
		all[i] = filepath.Clean(d)
	}
	slices.Sort(all)
	for _, d := range slices.Compact(all) {
		own := true
		if slices.ContainsFunc(out, func(outer string) bool { return inside(d, outer) }) {
			if own, err = isOwnRepository(d, out); err != nil {
				return nil, err
			}
		}
		if own {
			out = append(out, d)
		}
	}
	return out, nil
}

// innermost returns the deepest of some directories that contains a path, "" for none.
func innermost(path string, dirs []string) (deepest string) {
	for _, d := range dirs {
		if inside(path, d) && len(d) > len(deepest) {
			deepest = d
		}
	}
	return deepest
}

// isOwnRepository reports whether dir has a different git directory than all directories around it.
func isOwnRepository(dir string, around []string) (bool, error) {
	l, err := findLayout(dir)
	if err != nil || l.top == "" {
		return false, err
	}
	for _, outer := range around {
		if !inside(dir, outer) {
			continue
		}
		if o, err := findLayout(outer); err != nil || o.gitDir == l.gitDir {
			return false, err
		}
	}
	return true, nil
}

// withoutNested drops from each tree the nested repositories that have their own tree in the
// checkpoint.
func withoutNested(c machine.Checkpoint) machine.Checkpoint {
	for i, t := range c.Trees {
		c.Trees[i].Skipped = slices.DeleteFunc(slices.Clone(t.Skipped), func(sk machine.SkippedFile) bool {
			full := filepath.Join(t.Top, filepath.FromSlash(sk.Path))
			return slices.ContainsFunc(c.Trees, func(o machine.Tree) bool { return o.Top == full })
		})
	}
	return c
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path,
		strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
