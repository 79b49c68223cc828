package fleet

import (
	"context"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// routedFiles implements machine.Files.
type routedFiles struct{ *Route }

// Files returns the files of all computers.
func (r *Route) Files() machine.Files { return routedFiles{r} }

// reach returns the part of a reach that is on this computer.
func (n node) reach(all machine.FileReach) machine.FileReach {
	there := machine.FileReach{Worktrees: all.Worktrees}
	for _, root := range all.Roots {
		if id, p, err := place.SplitPath(root); err == nil && id == n.id {
			there.Roots = append(there.Roots, p)
		}
	}
	for _, grant := range all.Granted {
		if id, p, err := place.SplitPath(grant.Path); err == nil && id == n.id {
			grant.Path = p
			there.Granted = append(there.Granted, grant)
		}
	}
	return there
}

// askURI calls the computer of a URI.
func askURI[T any](r *Route, uri ahp.URI, ask func(n node, there ahp.URI) (T, error)) (node, T, error) {
	n, there, err := r.uri(uri)
	if err != nil {
		var none T
		return n, none, err
	}
	out, err := ask(n, there)
	return n, out, n.explain(err, there)
}

// tellURI is askURI for a call without a result.
func tellURI(r *Route, uri ahp.URI, tell func(n node, there ahp.URI) error) error {
	_, _, err := askURI(r, uri, func(n node, there ahp.URI) (struct{}, error) { return struct{}{}, tell(n, there) })
	return err
}

func (f routedFiles) Look(ctx context.Context, uri ahp.URI) (machine.FoundFile, error) {
	n, found, err := askURI(f.Route, uri, func(n node, there ahp.URI) (machine.FoundFile, error) {
		return n.Files().Look(ctx, there)
	})
	if err == nil {
		found.Path, err = place.JoinPath(n.id, found.Path)
	}
	if err != nil {
		return machine.FoundFile{}, err
	}
	return found, nil
}

func (f routedFiles) CheckOpen(ctx context.Context, reach machine.FileReach, uri ahp.URI, write bool) error {
	return tellURI(f.Route, uri, func(n node, there ahp.URI) error {
		return n.Files().CheckOpen(ctx, n.reach(reach), there, write)
	})
}

func (f routedFiles) Read(ctx context.Context, reach machine.FileReach, uri ahp.URI) (machine.FileContent, error) {
	n, content, err := askURI(f.Route, uri, func(n node, there ahp.URI) (machine.FileContent, error) {
		return n.Files().Read(ctx, n.reach(reach), there)
	})
	if err == nil {
		content.Path, err = place.JoinPath(n.id, content.Path)
	}
	if err != nil {
		return machine.FileContent{}, err
	}
	return content, nil
}

func (f routedFiles) List(ctx context.Context, reach machine.FileReach, uri ahp.URI) (ahp.ResourceListResult, error) {
	_, list, err := askURI(f.Route, uri, func(n node, there ahp.URI) (ahp.ResourceListResult, error) {
		return n.Files().List(ctx, n.reach(reach), there)
	})
	return list, err
}

func (f routedFiles) Resolve(ctx context.Context, reach machine.FileReach, uri ahp.URI, follow bool) (
	ahp.ResourceResolveResult, error,
) {
	n, found, err := askURI(f.Route, uri, func(n node, there ahp.URI) (ahp.ResourceResolveResult, error) {
		return n.Files().Resolve(ctx, n.reach(reach), there, follow)
	})
	if err == nil {
		found.URI, err = place.JoinURI(n.id, found.URI)
	}
	if err != nil {
		return ahp.ResourceResolveResult{}, err
	}
	return found, nil
}

func (f routedFiles) Write(ctx context.Context, reach machine.FileReach, p ahp.ResourceWriteParams) error {
	return tellURI(f.Route, p.URI, func(n node, there ahp.URI) error {
		p.URI = there
		return n.Files().Write(ctx, n.reach(reach), p)
	})
}

func (f routedFiles) Mkdir(ctx context.Context, reach machine.FileReach, uri ahp.URI) error {
	return tellURI(f.Route, uri, func(n node, there ahp.URI) error {
		return n.Files().Mkdir(ctx, n.reach(reach), there)
	})
}

// pair returns the computer of two URIs, and the URIs there.
func (r *Route) pair(source, destination ahp.URI) (n node, from, to ahp.URI, err error) {
	a, from, err := place.SplitURI(source)
	if err != nil {
		return node{}, "", "", err
	}
	b, to, err := place.SplitURI(destination)
	switch {
	case err != nil:
		return node{}, "", "", err
	case a != b:
		return node{}, "", "", errTwoMachines
	}
	n, err = r.node(a)
	return n, from, to, err
}

func (f routedFiles) Copy(ctx context.Context, reach machine.FileReach, p ahp.ResourceCopyParams) error {
	n, from, to, err := f.pair(p.Source, p.Destination)
	if err != nil {
		return err
	}
	p.Source, p.Destination = from, to
	return n.explain(n.Files().Copy(ctx, n.reach(reach), p), from, to)
}

func (f routedFiles) Move(ctx context.Context, reach machine.FileReach, p ahp.ResourceMoveParams) error {
	n, from, to, err := f.pair(p.Source, p.Destination)
	if err != nil {
		return err
	}
	p.Source, p.Destination = from, to
	return n.explain(n.Files().Move(ctx, n.reach(reach), p), from, to)
}

func (f routedFiles) Delete(ctx context.Context, reach machine.FileReach, uri ahp.URI, recursive bool) error {
	return tellURI(f.Route, uri, func(n node, there ahp.URI) error {
		return n.Files().Delete(ctx, n.reach(reach), there, recursive)
	})
}

func (f routedFiles) Watch(ctx context.Context, reach machine.FileReach, p ahp.CreateResourceWatchParams) (
	machine.FileWatch, error,
) {
	n, w, err := askURI(f.Route, p.URI, func(n node, there ahp.URI) (machine.FileWatch, error) {
		p.URI = there
		return n.Files().Watch(ctx, n.reach(reach), p)
	})
	if err != nil {
		return nil, err
	}
	return routedWatch{w, n.id}, nil
}

// routedWatch converts the URIs of changes into the hub's spelling.
type routedWatch struct {
	machine.FileWatch
	id string
}

func (w routedWatch) Run(ctx context.Context, tell func([]ahp.ResourceChange)) {
	w.FileWatch.Run(ctx, func(changes []ahp.ResourceChange) {
		var out []ahp.ResourceChange
		for _, c := range changes {
			if uri, err := place.JoinURI(w.id, c.URI); err == nil { // skip unreachable files
				out = append(out, ahp.ResourceChange{URI: uri, Type: c.Type})
			}
		}
		if len(out) > 0 {
			tell(out)
		}
	})
}
