package customs

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// contents holds the customizations of a loaded session.
type contents struct {
	follows map[machine.CustomRoot]func() // functions that stop following a root
	groups  []ahp.Customization           // as on disk, without decisions and states
	plugins map[ahp.URI]ahp.Customization
	servers map[string]*mcpServer // by id
	over    bool                  // there is more than is shown
}

// lane returns the lane for work on a session's customizations.
func lane(session ahp.URI) string { return session + "#customizations" }

// Refresh schedules another look at a session's customizations.
func (p *Part) Refresh(session ahp.URI) {
	if p.cfg.Customs != nil {
		p.core.Lanes.Add(p.core.Ctx, lane(session), func(ctx context.Context) { p.refresh(ctx, session) })
	}
}

// RefreshNow looks at a session's customizations and waits for that, at most until ctx ends. Only
// this finds changes that the system does not report, or that happened while the session was
// unloaded.
func (p *Part) RefreshNow(ctx context.Context, session ahp.URI) {
	if p.cfg.Customs == nil {
		return
	}
	done := make(chan struct{})
	p.core.Lanes.Add(p.core.Ctx, lane(session), func(ctx context.Context) {
		defer close(done)
		p.refresh(ctx, session)
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-p.core.Ctx.Done(): // the lanes are closed
	}
}

// refresh updates a session's tree (AHP requirement 145): the host's own findings, then what
// clients publish. One call runs at a time for each session.
func (p *Part) refresh(ctx context.Context, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok {
		return
	}
	roots := p.listRoots(s)
	if !p.followRoots(session, roots) {
		return
	}
	next := &contents{plugins: map[ahp.URI]ahp.Customization{}, servers: map[string]*mcpServer{}}
	for _, r := range roots {
		next.add(r, p.cfg.Customs.Look(ctx, r))
	}
	p.readPlugins(ctx, s, roots, next)
	gone := p.replace(session, next)
	for _, v := range gone {
		v.stop()
	}
	if err := p.core.Do(ctx, func(tx *hub.Tx) { p.publish(tx, session) }); err != nil {
		return // only if the host stops
	}
	p.settleServers(session)
}

// listRoots returns the directories in which a session's agent finds customizations.
func (p *Part) listRoots(s *ahp.SessionState) []machine.CustomRoot {
	roots := []machine.CustomRoot{}
	for _, dir := range core.LocalPaths(s.WorkingDirectories) {
		r := machine.CustomRoot{Dir: dir, Place: machine.WorkspacePlace}
		if tree, repo, ok := p.cfg.WorktreeOf(s); ok && tree == dir {
			r.As = repo
		}
		roots = append(roots, r)
	}
	if home := p.cfg.Home; home != "" {
		roots = append(roots, machine.CustomRoot{Dir: home, Place: machine.HomePlace})
	}
	if own, err := filepath.Abs(p.cfg.DataDir); err == nil && p.cfg.DataDir != "" {
		roots = append(roots, machine.CustomRoot{Dir: own, Place: machine.OwnPlace})
	}
	return roots
}

// followRoots follows exactly these roots for a session. It returns false if the host stops or the
// session was released.
func (p *Part) followRoots(session ahp.URI, roots []machine.CustomRoot) bool {
	c := &p.registry
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	had := c.by[session]
	if had == nil {
		had = &contents{follows: map[machine.CustomRoot]func(){}, servers: map[string]*mcpServer{}}
		c.by[session] = had
	}
	var stops []func()
	var begin []machine.CustomRoot
	for r, stop := range had.follows {
		if !slices.Contains(roots, r) {
			stops = append(stops, stop)
			delete(had.follows, r)
		}
	}
	for _, r := range roots {
		if had.follows[r] == nil {
			begin = append(begin, r)
			had.follows[r] = func() {}
		}
	}
	c.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	for _, r := range begin {
		stop := p.cfg.Customs.Follow(r, func() { p.Refresh(session) })
		c.mu.Lock()
		now := c.by[session]
		if now != nil {
			now.follows[r] = stop
		}
		c.mu.Unlock()
		if now == nil { // the session was released meanwhile
			stop()
			return false
		}
	}
	return true
}

// add adds the customizations found in a root.
func (n *contents) add(r machine.CustomRoot, found machine.CustomFound) {
	n.over = n.over || found.Over
	for _, g := range found.Groups {
		n.groups = append(n.groups, n.group(r, g))
	}
	for _, e := range found.Servers {
		n.groups = append(n.groups, ahp.Customization{Value: n.server(r, e)})
	}
}

// replace replaces a session's contents by next. Unchanged servers keep running; the others are
// returned.
func (p *Part) replace(session ahp.URI, next *contents) (gone []*mcpServer) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.by[session]
	if was == nil {
		return nil
	}
	for id, v := range was.servers {
		if now := next.servers[id]; now != nil && reflect.DeepEqual(now.entry, v.entry) {
			next.servers[id] = v
		} else {
			gone = append(gone, v)
		}
	}
	next.follows = was.follows
	c.by[session] = next
	return gone
}

// publish applies the changes of a session's tree with the smallest actions (AHP requirement 148).
func (p *Part) publish(tx *hub.Tx, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	list, known := p.tree(session, s)
	if !known || len(list) == 0 && len(s.Customizations) == 0 {
		return
	}
	if !hasSameOrder(s.Customizations, list) {
		tx.Apply(session, &ahp.SessionCustomizationsChangedAction{Customizations: list})
	} else {
		for i := range list {
			if !reflect.DeepEqual(list[i], s.Customizations[i]) {
				tx.Apply(session, &ahp.SessionCustomizationUpdatedAction{Customization: list[i]})
			}
		}
	}
	p.publishTools(tx, session)
}

func hasSameOrder(a, b []ahp.Customization) bool {
	return slices.EqualFunc(a, b, func(x, y ahp.Customization) bool { return x.ID() == y.ID() })
}

// tree returns a session's list: customizations on disk and from clients, with decisions and
// states.
func (p *Part) tree(session ahp.URI, s *ahp.SessionState) (list []ahp.Customization, known bool) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.by[session]
	if n == nil {
		return nil, false
	}
	r := p.newResolver(session, s)
	for _, g := range n.groups {
		list = append(list, r.resolve(g, n))
	}
	return append(list, r.clientPlugins(s, n, list)...), true
}

// Release removes a deleted or unloaded session, and stops its servers.
func (p *Part) Release(session ahp.URI) {
	c := &p.registry
	c.mu.Lock()
	n := c.by[session]
	delete(c.by, session)
	stops := n.stops()
	c.mu.Unlock()
	stopAll(stops)
}

// Close stops all servers concurrently, and waits for them.
func (p *Part) Close() {
	c := &p.registry
	c.mu.Lock()
	var stops []func()
	for _, n := range c.by {
		stops = append(stops, n.stops()...)
	}
	c.by, c.closed = nil, true
	c.mu.Unlock()
	stopAll(stops)
}

// stops returns functions that stop following a session's roots and stop its servers. The registry's lock is held.
func (n *contents) stops() (list []func()) {
	if n == nil {
		return nil
	}
	list = slices.Collect(maps.Values(n.follows))
	for _, v := range n.servers {
		list = append(list, v.stop)
	}
	return list
}

// stopAll calls all functions concurrently, and waits for them.
func stopAll(stops []func()) {
	var wg sync.WaitGroup
	for _, stop := range stops {
		wg.Go(stop)
	}
	wg.Wait()
}

// refreshAll refreshes every loaded session, after a decision that affects several.
func (p *Part) refreshAll() {
	c := &p.registry
	c.mu.Lock()
	var all []ahp.URI
	for uri := range c.by {
		all = append(all, uri)
	}
	c.mu.Unlock()
	for _, uri := range all {
		p.Refresh(uri)
	}
}

// ListHome returns the containers of the user's own settings, which agents have in every session.
// Their children are listed per session.
func (p *Part) ListHome(ctx context.Context) []ahp.Customization {
	if p.cfg.Customs == nil || p.cfg.Home == "" {
		return nil
	}
	n := &contents{servers: map[string]*mcpServer{}}
	root := machine.CustomRoot{Dir: p.cfg.Home, Place: machine.HomePlace}
	var out []ahp.Customization
	for _, g := range p.cfg.Customs.Look(ctx, root).Groups {
		out = append(out, withoutChildren(n.group(root, g)))
	}
	return out
}

// withoutChildren returns a container whose children were not read yet (AHP requirement 146).
func withoutChildren(c ahp.Customization) ahp.Customization {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		v.Children, v.Load = nil, nil
	case *ahp.DirectoryCustomization:
		v.Children, v.Load = nil, nil
	}
	return c
}
