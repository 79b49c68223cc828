package fleet

import (
	"context"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// batch holds the paths of a list that are on one computer.
type batch struct {
	node
	paths []string // there
	at    []int    // their indexes in the list
}

// batches groups paths by computer. It passes paths that lead nowhere to refused.
func (r *Route) batches(paths []string, refused func(at int, err error)) (list []*batch) {
	known := map[string]*batch{}
	for i, p := range paths {
		id, there, err := place.SplitPath(p)
		b := known[id]
		if err == nil && b == nil {
			var n node
			if n, err = r.node(id); err == nil {
				b = &batch{node: n}
				known[id], list = b, append(list, b)
			}
		}
		if err != nil {
			refused(i, err)
			continue
		}
		b.paths, b.at = append(b.paths, there), append(b.at, i)
	}
	return list
}

func (f routedFiles) RealPaths(ctx context.Context, paths []string) []string {
	out := make([]string, len(paths))
	for _, b := range f.batches(paths, func(int, error) {}) {
		for i, there := range b.Files().RealPaths(ctx, b.paths) {
			if p, err := place.JoinPath(b.id, there); err == nil && i < len(b.at) {
				out[b.at[i]] = p
			}
		}
	}
	return out
}

func (f routedFiles) Places(ctx context.Context, paths, worktrees []string) []machine.Place {
	out := make([]machine.Place, len(paths))
	for _, b := range f.batches(paths, func(at int, err error) { out[at].Closed = messageOf(err) }) {
		for i, place := range b.Files().Places(ctx, b.paths, worktrees) {
			if i < len(b.at) {
				out[b.at[i]] = place
			}
		}
	}
	return out
}

func (f routedFiles) IsWide(ctx context.Context, dirs []string) bool {
	wide := false
	for _, b := range f.batches(dirs, func(int, error) { wide = true }) { // when unknown, assume the worst
		wide = wide || b.Files().IsWide(ctx, b.paths)
	}
	return wide
}
