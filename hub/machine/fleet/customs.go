package fleet

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// routedCustoms implements machine.Customs.
type routedCustoms struct{ *Route }

// Customs returns the finder of all computers' customizations, or nil if the hub's own computer has none. An MCP server
// is reached from the computer that declares it.
func (r *Route) Customs() machine.Customs {
	if r.own.Customs() == nil {
		return nil
	}
	return routedCustoms{r}
}

// root returns the computer of a root, which may be offline, and the root there. Customizations are named and trusted
// by the hub's spelling, so that equal paths of two computers stay distinct.
func (c routedCustoms) root(root machine.CustomRoot) (site, machine.CustomRoot, error) {
	id, there, err := place.SplitPath(root.Dir)
	if err != nil || id == "" {
		return site{node: node{Machine: c.own}}, root, err
	}
	n, _, err := c.member(id)
	return site{node: n}, machine.CustomRoot{Dir: there, As: cmp.Or(root.As, root.Dir), Place: root.Place}, err
}

// customs returns a root's computer and the finder of its customizations, or nil if it has none.
func (c routedCustoms) customs(root machine.CustomRoot) (site, machine.CustomRoot, machine.Customs) {
	s, there, err := c.root(root)
	if err != nil {
		return s, there, nil
	}
	return s, there, s.Machine.Customs()
}

func (c routedCustoms) Look(ctx context.Context, root machine.CustomRoot) machine.CustomFound {
	s, there, customs := c.customs(root)
	if customs == nil {
		return machine.CustomFound{}
	}
	found := customs.Look(ctx, there)
	if s.id != "" {
		found.Groups = each(found.Groups, func(g machine.CustomGroup) machine.CustomGroup { return s.group(g, there) })
		found.Servers = each(found.Servers, func(e machine.CustomEntry) machine.CustomEntry {
			return s.entry(e,
				there)
		})
	}
	return found
}

// group returns a member's group in the hub's spelling.
func (s site) group(g machine.CustomGroup, root machine.CustomRoot) machine.CustomGroup {
	g.Path = s.out(g.Path)
	g.Entries = each(g.Entries, func(e machine.CustomEntry) machine.CustomEntry { return s.entry(e, root) })
	return g
}

func (s site) entry(e machine.CustomEntry, root machine.CustomRoot) machine.CustomEntry {
	e.Path = s.out(e.Path)
	if e.Command != nil {
		command := *e.Command
		// a member must not choose for which directory it is trusted
		command.As, command.Workspace = root.As, s.out(root.Dir)
		command.Plugin, command.Dir = s.outDir(command.Plugin), s.outDir(command.Dir)
		e.Command = &command
	}
	return e
}

// outDir is out for a directory that may begin with a placeholder.
func (s site) outDir(dir string) string {
	if strings.HasPrefix(dir, "${") {
		return dir
	}
	return s.out(dir)
}

// Follow calls changed after each change of a root. It waits for a member that has no finder of customizations until it
// is connected.
func (c routedCustoms) Follow(root machine.CustomRoot, changed func()) (stop func()) {
	if _, there, customs := c.customs(root); customs != nil {
		return customs.Follow(there, changed)
	}
	ctx, cancel := context.WithCancel(context.Background())
	news, ignore := c.Watch()
	go func() {
		defer ignore()
		for {
			select {
			case <-news:
			case <-ctx.Done():
				return
			}
			if _, there, customs := c.customs(root); customs != nil {
				defer customs.Follow(there, changed)()
				changed()
				<-ctx.Done()
				return
			}
		}
	}()
	return cancel
}

func (c routedCustoms) ReadPlugin(ctx context.Context, root machine.CustomRoot,
	dir string) (machine.CustomGroup, bool) {
	s, there, customs := c.customs(root)
	id, at, err := place.SplitPath(dir)
	if customs == nil || err != nil || id != s.id {
		return machine.CustomGroup{}, false
	}
	g, is := customs.ReadPlugin(ctx, there, at)
	if s.id != "" {
		g = s.group(g, there)
	}
	return g, is
}

func (c routedCustoms) ReadText(ctx context.Context, root machine.CustomRoot, path string, n int64) (
	text string, cut bool, err error,
) {
	s, there, err := c.root(root)
	if err != nil {
		return "", false, err
	}
	id, at, err := place.SplitPath(path)
	switch customs := s.Machine.Customs(); {
	case err != nil:
		return "", false, err
	case id != s.id:
		return "", false, errTwoMachines
	case customs == nil:
		return "", false, s.node.explain(machine.ErrOffline)
	default:
		text, cut, err = customs.ReadText(ctx, there, at, n)
		return text, cut, s.node.explain(err, place.FileURI(at))
	}
}

// Dial reaches an MCP server from the computer that declares it.
func (c routedCustoms) Dial(ctx context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	id, command := "", &spec.Command
	for i, dir := range []*string{&command.Workspace, &command.Plugin, &command.Dir} {
		if !filepath.IsAbs(*dir) {
			continue // empty, or begins with a placeholder
		}
		on, there, err := place.SplitPath(*dir)
		switch {
		case err != nil:
			return nil, err
		case i > 0 && command.Workspace != "" && on != id:
			return nil, errTwoMachines
		}
		id, *dir = on, there
	}
	n, err := c.node(id)
	if err != nil {
		return nil, err
	}
	customs := n.Machine.Customs()
	if customs == nil {
		return nil, n.explain(machine.ErrOffline)
	}
	if spec.Sandbox, err = splitPolicy(id, spec.Sandbox); err != nil {
		return nil, err
	}
	conn, err := customs.Dial(ctx, spec)
	if err != nil {
		return nil, n.explain(err)
	}
	return conn, nil
}
