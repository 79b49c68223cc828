package host

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Customize says where agents' customizations are found, and who reaches MCP servers. The zero value finds none.
type Customize struct {
	Library Library
	Home    string       // the user's directory, where agents keep settings; "" is not looked at
	Servers ServerDialer // nil: MCP servers are listed, and none is started
}

// Library finds on disk what agents are customized with.
type Library interface {
	Look(custom.Root) custom.Found
	Follow(root custom.Root, tell func()) (stop func())
}

// customs is what the host knows of customizations. Its lock is taken inside of the hub's, never the other way round.
type customs struct {
	mu      sync.Mutex
	by      map[ahp.URI]*customized
	decided map[string]map[string]bool // scope → id → on
	trusted map[string]Trust           // by custom.Command.Digest
	tokens  map[string]string          // resource → token; in memory alone
	closed  bool
}

// customized is one session's, while it is in memory.
type customized struct {
	follows map[custom.Root]func() // how to stop following each
	groups  []ahp.Customization    // as they lie on disk: without decisions and states
	plugins map[ahp.URI]ahp.Customization
	servers map[string]*mcpServer // by id
	over    bool                  // there is more than is shown
}

func customsLane(session ahp.URI) string { return session + "#customizations" }

// recustomize looks at a session's customizations again, soon.
func (h *Host) recustomize(session ahp.URI) {
	if h.cfg.Customize.Library != nil {
		h.core.Lanes.Add(h.core.Ctx, customsLane(session), func(ctx context.Context) { h.customize(ctx, session) })
	}
}

// customizeNow looks at them and waits, at most as long as ctx.
func (h *Host) customizeNow(ctx context.Context, session ahp.URI) {
	if h.cfg.Customize.Library == nil {
		return
	}
	done := make(chan struct{})
	h.core.Lanes.Add(h.core.Ctx, customsLane(session), func(ctx context.Context) {
		defer close(done)
		h.customize(ctx, session)
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-h.core.Ctx.Done(): // no lane takes any more
	}
}

// customize brings a session's tree to what there is (AHP requirement 145): the host's own finds, then what clients
// publish. One runs at a time for each session.
func (h *Host) customize(ctx context.Context, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok {
		return
	}
	roots := h.customRoots(s)
	if !h.followRoots(session, roots) {
		return
	}
	next := &customized{plugins: map[ahp.URI]ahp.Customization{}, servers: map[string]*mcpServer{}}
	for _, r := range roots {
		next.take(r, h.cfg.Customize.Library.Look(r))
	}
	h.readPlugins(s, roots, next)
	gone := h.keepCustoms(session, next)
	for _, v := range gone {
		v.stop()
	}
	if err := h.core.Do(ctx, func(tx *hub.Tx) { h.publishCustoms(tx, session) }); err != nil {
		return // only when the host stops
	}
	h.settleServers(session)
}

// customRoots are where a session's agent finds what it is customized with.
func (h *Host) customRoots(s *ahp.SessionState) []custom.Root {
	roots := []custom.Root{}
	for _, dir := range core.LocalPaths(s.WorkingDirectories) {
		r := custom.Root{Dir: dir, Place: custom.Workspace}
		if t, ok := changes.WorktreeOf(s); ok && t.Dir == dir {
			r.As = t.Repo
		}
		roots = append(roots, r)
	}
	if home := h.cfg.Customize.Home; home != "" {
		roots = append(roots, custom.Root{Dir: home, Place: custom.Home})
	}
	if own, err := filepath.Abs(h.cfg.DataDir); err == nil && h.cfg.DataDir != "" {
		roots = append(roots, custom.Root{Dir: own, Place: custom.Own})
	}
	return roots
}

// followRoots hears of changes in a session's roots, and of those alone; false when the host stops.
func (h *Host) followRoots(session ahp.URI, roots []custom.Root) bool {
	c := &h.customs
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	had := c.by[session]
	if had == nil {
		had = &customized{follows: map[custom.Root]func(){}, servers: map[string]*mcpServer{}}
		c.by[session] = had
	}
	var stops []func()
	var begin []custom.Root
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
		stop := h.cfg.Customize.Library.Follow(r, func() { h.recustomize(session) })
		c.mu.Lock()
		now := c.by[session]
		if now != nil {
			now.follows[r] = stop
		}
		c.mu.Unlock()
		if now == nil { // the session went away meanwhile
			stop()
			return false
		}
	}
	return true
}

// take adds what a root has.
func (n *customized) take(r custom.Root, found custom.Found) {
	n.over = n.over || found.Over
	for _, g := range found.Groups {
		n.groups = append(n.groups, n.group(r, g))
	}
	for _, e := range found.Servers {
		n.groups = append(n.groups, ahp.Customization{Value: n.server(r, e)})
	}
}

// keepCustoms makes next what the host knows. Servers that are as they were go on; those that are not are returned.
func (h *Host) keepCustoms(session ahp.URI, next *customized) (gone []*mcpServer) {
	c := &h.customs
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

// publishCustoms applies what changed of a session's tree, by as little as it takes (AHP requirement 148).
func (h *Host) publishCustoms(tx *hub.Tx, session ahp.URI) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	list, known := h.tree(session, s)
	if !known || len(list) == 0 && len(s.Customizations) == 0 {
		return
	}
	if !sameOrder(s.Customizations, list) {
		tx.Apply(session, &ahp.SessionCustomizationsChangedAction{Customizations: list})
	} else {
		for i := range list {
			if !reflect.DeepEqual(list[i], s.Customizations[i]) {
				tx.Apply(session, &ahp.SessionCustomizationUpdatedAction{Customization: list[i]})
			}
		}
	}
	h.publishTools(tx, session)
}

func sameOrder(a, b []ahp.Customization) bool {
	return slices.EqualFunc(a, b, func(x, y ahp.Customization) bool { return customizationID(x) == customizationID(y) })
}

// tree is a session's list as it is to be: what lies on disk, what clients publish, with decisions and states.
func (h *Host) tree(session ahp.URI, s *ahp.SessionState) (list []ahp.Customization, known bool) {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.by[session]
	if n == nil {
		return nil, false
	}
	r := c.resolver(session, s)
	for _, g := range n.groups {
		list = append(list, r.decided(g, n))
	}
	return append(list, r.clientPlugins(s, n, list)...), true
}

// forgetCustoms lets go of a session that is gone, or goes to sleep: its servers stop.
func (h *Host) forgetCustoms(session ahp.URI) {
	c := &h.customs
	c.mu.Lock()
	n := c.by[session]
	delete(c.by, session)
	stops := n.stops()
	c.mu.Unlock()
	end(stops)
}

// stopCustoms stops every server, side by side.
func (h *Host) stopCustoms() {
	c := &h.customs
	c.mu.Lock()
	var stops []func()
	for _, n := range c.by {
		stops = append(stops, n.stops()...)
	}
	c.by, c.closed = nil, true
	c.mu.Unlock()
	end(stops)
}

// stops are how a session's roots are let go and its servers stopped. The lock is held.
func (n *customized) stops() (list []func()) {
	if n == nil {
		return nil
	}
	list = slices.Collect(maps.Values(n.follows))
	for _, v := range n.servers {
		list = append(list, v.stop)
	}
	return list
}

// end stops all side by side, and waits.
func end(stops []func()) {
	var wg sync.WaitGroup
	for _, stop := range stops {
		wg.Go(stop)
	}
	wg.Wait()
}

// customizeAll looks at every session in memory again: a decision for more than one was made.
func (h *Host) customizeAll() {
	c := &h.customs
	c.mu.Lock()
	var all []ahp.URI
	for uri := range c.by {
		all = append(all, uri)
	}
	c.mu.Unlock()
	for _, uri := range all {
		h.recustomize(uri)
	}
}

// rootCustomizations are the containers an agent brings to every session: the user's own. They are looked into for each
// session.
func (h *Host) rootCustomizations(b agent.Backend) []ahp.Customization {
	if u, ok := b.(agent.ToolUser); !ok || !u.UsesTools() || h.cfg.Customize.Library == nil || h.cfg.Customize.Home == "" {
		return nil
	}
	n := &customized{servers: map[string]*mcpServer{}}
	root := custom.Root{Dir: h.cfg.Customize.Home, Place: custom.Home}
	var out []ahp.Customization
	for _, g := range h.cfg.Customize.Library.Look(root).Groups {
		out = append(out, unread(n.group(root, g)))
	}
	return out
}

// unread is a container that was not read yet (AHP requirement 146).
func unread(c ahp.Customization) ahp.Customization {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		v.Children, v.Load = nil, nil
	case *ahp.DirectoryCustomization:
		v.Children, v.Load = nil, nil
	}
	return c
}
