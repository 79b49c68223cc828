package customs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A customization is enabled or disabled for a session, for a directory's sessions, or for all; the
// nearest decision counts. The host stores decisions, so that they survive a restart and also apply
// to entries without a field for them.

// decisionsBucket holds the decisions of each scope: id → enabled.
const decisionsBucket = "customizations"

const (
	scopeAll     = "all"
	maxDecisions = 2000 // per scope
)

func scopeOfSession(session ahp.URI) string { return "session:" + session }

// scopeOfWorkspace returns the scope of a session's first directory. A worktree has the scope of
// its original directory.
func (p *Part) scopeOfWorkspace(s *ahp.SessionState) string {
	if len(s.WorkingDirectories) == 0 {
		return ""
	}
	if tree, repo, ok := p.cfg.WorktreeOf(s); ok && core.FileURI(tree) == s.WorkingDirectories[0] {
		return "workspace:" + core.FileURI(repo)
	}
	return "workspace:" + s.WorkingDirectories[0]
}

// Load reads decisions and trust. Call it once, before the first client connects.
func (p *Part) Load(ctx context.Context) error {
	if p.core.Store == nil {
		return nil
	}
	list, err := p.core.Store.Records(ctx, decisionsBucket)
	for _, r := range list {
		var ids map[string]bool
		if err := json.Unmarshal(r.Value, &ids); err != nil {
			p.core.Log.Error("decisions on customizations cannot be read", "scope", r.Key, "err", err)
			continue
		}
		p.registry.decided[r.Key] = ids
	}
	if err != nil {
		return err
	}
	return p.loadTrust(ctx)
}

// checkToggled sorts decisions in the protocol's order. Only the owner may decide for more than a
// session.
func (p *Part) checkToggled(r *core.Request, s *ahp.SessionState, a *ahp.SessionCustomizationToggledAction) string {
	if !hasCustomization(s, a.ID) {
		return "" // changes nothing (AHP requirement 149)
	}
	seen := map[int]bool{}
	for _, e := range a.Enablement {
		rank, dir := rankOf(e)
		switch {
		case rank == 0:
			return "a decision applies to this session, its workspace or all sessions. This scope is not supported"
		case seen[rank]:
			return "there can be one decision for each scope, and this one has two"
		case dir != "" && (len(s.WorkingDirectories) == 0 || s.WorkingDirectories[0] != dir):
			return "the workspace of this session is its first directory. Use that one"
		case rank > 1 && !r.Caller.IsOwner():
			return "only the owner can decide for more than this session"
		}
		seen[rank] = true
	}
	if p.isFull(r.Info.URI, s, a.ID) {
		return fmt.Sprintf("there are %d decisions already, as many as are kept", maxDecisions)
	}
	a.Enablement = slices.Clone(a.Enablement)
	slices.SortFunc(a.Enablement, func(x, y ahp.CustomizationEnablement) int {
		i, _ := rankOf(x)
		j, _ := rankOf(y)
		return cmp.Compare(i, j)
	})
	p.recordToggled(r.Tx, r.Info.Session, s, a)
	return ""
}

// rankOf returns the reach of a decision: 1 a session, 2 a workspace, 3 all, 0 an unknown kind.
func rankOf(e ahp.CustomizationEnablement) (rank int, dir ahp.URI) {
	switch v := e.Value.(type) {
	case *ahp.CustomizationSessionEnablement:
		return 1, ""
	case *ahp.CustomizationWorkspaceEnablement:
		return 2, v.URI
	case *ahp.CustomizationGlobalEnablement:
		return 3, ""
	}
	return 0, ""
}

// isFull reports whether a scope of the session has no room for a decision on another entry.
func (p *Part) isFull(session ahp.URI, s *ahp.SessionState, id string) bool {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, scope := range []string{scopeOfSession(session), p.scopeOfWorkspace(s), scopeAll} {
		if _, has := c.decided[scope][id]; !has && len(c.decided[scope]) >= maxDecisions {
			return true
		}
	}
	return false
}

// recordToggled records decisions in the step of their action, and refreshes the affected sessions.
// It removes earlier decisions that the action does not repeat. A decision can change although the
// entry looks the same.
func (p *Part) recordToggled(tx *hub.Tx, session ahp.URI, s *ahp.SessionState,
	a *ahp.SessionCustomizationToggledAction) {
	said := map[int]bool{}
	on := map[int]bool{}
	for _, e := range a.Enablement {
		rank, _ := rankOf(e)
		said[rank], on[rank] = true, ahp.Enabled([]ahp.CustomizationEnablement{e})
	}
	far := false
	p.decide(tx, scopeOfSession(session), a.ID, said[1], on[1])
	if w := p.scopeOfWorkspace(s); w != "" {
		far = p.decide(tx, w, a.ID, said[2], on[2])
	}
	far = p.decide(tx, scopeAll, a.ID, said[3], on[3]) || far
	tx.Effect(lane(session), func(context.Context) {
		p.Refresh(session)
		if far {
			p.refreshAll()
		}
	})
}

// decide records or removes one decision.
func (p *Part) decide(tx *hub.Tx, scope, id string, said, on bool) (changed bool) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	was, had := c.decided[scope][id]
	if had == said && was == on {
		return false
	}
	if c.decided[scope] == nil {
		c.decided[scope] = map[string]bool{}
	}
	if said {
		c.decided[scope][id] = on
	} else {
		delete(c.decided[scope], id)
	}
	if len(c.decided[scope]) == 0 {
		delete(c.decided, scope)
		tx.Record(decisionsBucket, scope, nil)
		return true
	}
	raw, _ := json.Marshal(c.decided[scope]) // booleans
	tx.Record(decisionsBucket, scope, raw)
	return true
}

// ForgetDecisions removes the decisions of a deleted session.
func (p *Part) ForgetDecisions(tx *hub.Tx, session ahp.URI) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	if scope := scopeOfSession(session); c.decided[scope] != nil {
		delete(c.decided, scope)
		tx.Record(decisionsBucket, scope, nil)
	}
}

// resolver looks up the decisions for one session. The registry's lock is held.
type resolver struct {
	c                  *registry
	session, workspace string
	dir                ahp.URI
}

func (p *Part) newResolver(session ahp.URI, s *ahp.SessionState) resolver {
	r := resolver{c: &p.registry, session: scopeOfSession(session), workspace: p.scopeOfWorkspace(s)}
	if len(s.WorkingDirectories) > 0 {
		r.dir = s.WorkingDirectories[0]
	}
	return r
}

// listEnablements returns the decisions on an entry, nearest first. A client's own decision counts
// if the host has none for all sessions.
func (r resolver) listEnablements(id string,
	published []ahp.CustomizationEnablement) (list []ahp.CustomizationEnablement) {
	if on, ok := r.c.decided[r.session][id]; ok {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationSessionEnablement{Enabled: on}})
	}
	if on, ok := r.c.decided[r.workspace][id]; ok && r.workspace != "" {
		workspace := &ahp.CustomizationWorkspaceEnablement{URI: r.dir, Enabled: on}
		list = append(list, ahp.CustomizationEnablement{Value: workspace})
	}
	if on, ok := r.c.decided[scopeAll][id]; ok {
		return append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationGlobalEnablement{Enabled: on}})
	}
	for _, e := range published {
		if rank, _ := rankOf(e); rank == 3 {
			return append(list, e)
		}
	}
	return list
}

// resolve returns a copy of an entry with its decisions and the states of its servers.
func (r resolver) resolve(c ahp.Customization, n *contents) ahp.Customization {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		p := *v
		p.Enablement, p.Children = r.listEnablements(p.ID, p.Enablement), r.children(p.Children, n)
		return ahp.Customization{Value: &p}
	case *ahp.DirectoryCustomization:
		d := *v
		d.Enabled, d.Children = ahp.Enabled(r.listEnablements(d.ID, nil)), r.children(d.Children, n)
		return ahp.Customization{Value: &d}
	case *ahp.McpServerCustomization:
		return ahp.Customization{Value: r.server(v, n)}
	}
	return c
}

func (r resolver) children(list []ahp.ChildCustomization, n *contents) []ahp.ChildCustomization {
	if list == nil {
		return nil
	}
	out := make([]ahp.ChildCustomization, len(list))
	for i, c := range list {
		out[i] = r.resolveChild(c, n)
	}
	return out
}

func (r resolver) resolveChild(c ahp.ChildCustomization, n *contents) ahp.ChildCustomization {
	if m, ok := c.Value.(*ahp.McpServerCustomization); ok {
		return ahp.ChildCustomization{Value: r.server(m, n)}
	}
	if d := r.listEnablements(c.ID(), nil); len(d) > 0 {
		return c.WithEnabled(ahp.Enabled(d))
	}
	return c
}

func (r resolver) server(m *ahp.McpServerCustomization, n *contents) *ahp.McpServerCustomization {
	x := *m
	x.Enablement = r.listEnablements(x.ID, x.Enablement)
	if v := n.servers[x.ID]; v != nil {
		x.State, x.Meta = v.now(), nil
		if !r.c.isTrusted(v) {
			x.Meta = ahp.Meta{untrustedKey: json.RawMessage("true")}
		}
	}
	return &x
}
