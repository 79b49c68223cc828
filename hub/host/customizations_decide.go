package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Whether a customization is used is decided for a session, for a directory's sessions, or for all; the nearest decision
// counts. They are kept by the host, so that they hold after a restart and where the protocol's entry has no room for them.

// bucketCustoms keeps the decisions of each scope: id → on.
const bucketCustoms = "customizations"

const (
	scopeAll      = "all"
	mostDecisions = 2000 // of one scope
)

func scopeOfSession(session ahp.URI) string { return "session:" + session }

// scopeOfWorkspace is a session's first directory; a work tree's is the directory it was made from.
func scopeOfWorkspace(s *ahp.SessionState) string {
	if len(s.WorkingDirectories) == 0 {
		return ""
	}
	if t, ok := changes.WorktreeOf(s); ok && core.FileURI(t.Dir) == s.WorkingDirectories[0] {
		return "workspace:" + core.FileURI(t.Repo)
	}
	return "workspace:" + s.WorkingDirectories[0]
}

// loadCustoms reads decisions and trust once, before the first caller.
func (h *Host) loadCustoms(ctx context.Context) error {
	c := &h.customs
	c.by, c.decided, c.trusted, c.tokens = map[ahp.URI]*customized{}, map[string]map[string]bool{}, map[string]Trust{}, map[string]string{}
	if h.core.Store == nil {
		return nil
	}
	list, err := h.core.Store.Records(ctx, bucketCustoms)
	for _, r := range list {
		var ids map[string]bool
		if err := json.Unmarshal(r.Value, &ids); err != nil {
			h.core.Log.Error("decisions on customizations cannot be read", "scope", r.Key, "err", err)
			continue
		}
		c.decided[r.Key] = ids
	}
	if err != nil {
		return err
	}
	return h.loadTrust(ctx)
}

// checkToggled keeps decisions in the protocol's order, and those for more than a session to
// callers who see all sessions.
func (h *Host) checkToggled(r *core.Request, s *ahp.SessionState, a *ahp.SessionCustomizationToggledAction) string {
	if !hasCustomization(s, a.ID) {
		return "" // it changes nothing (AHP requirement 149)
	}
	seen := map[int]bool{}
	for _, e := range a.Enablement {
		rank, dir := rankOf(e)
		switch {
		case rank == 0:
			return "a decision is for this session, its workspace, or all: this kind is not known here"
		case seen[rank]:
			return "one decision a scope: this one has two"
		case dir != "" && (len(s.WorkingDirectories) == 0 || s.WorkingDirectories[0] != dir):
			return "the workspace of this session is its first directory: decide for that one"
		case rank > 1 && !r.Caller.IsOwner():
			return "only the owner decides for more than this session"
		}
		seen[rank] = true
	}
	if h.customs.full(r.Info.URI, s, a.ID) {
		return fmt.Sprintf("there are %d decisions already, as many as are kept", mostDecisions)
	}
	a.Enablement = slices.Clone(a.Enablement)
	slices.SortFunc(a.Enablement, func(x, y ahp.CustomizationEnablement) int {
		i, _ := rankOf(x)
		j, _ := rankOf(y)
		return cmp.Compare(i, j)
	})
	h.noteToggled(r.Tx, r.Info.Session, s, a)
	return ""
}

// rankOf is how far a decision reaches: 1 a session, 2 a workspace, 3 all; 0 unknown.
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

func (c *customs) full(session ahp.URI, s *ahp.SessionState, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, scope := range []string{scopeOfSession(session), scopeOfWorkspace(s), scopeAll} {
		if _, has := c.decided[scope][id]; !has && len(c.decided[scope]) >= mostDecisions {
			return true
		}
	}
	return false
}

// noteToggled writes decisions down in order with the action, and has them take effect wherever they reach. What was decided
// before and is not said is taken back. An entry may look the same and still be decided otherwise.
func (h *Host) noteToggled(tx *hub.Tx, session ahp.URI, s *ahp.SessionState, a *ahp.SessionCustomizationToggledAction) {
	said := map[int]bool{}
	on := map[int]bool{}
	for _, e := range a.Enablement {
		rank, _ := rankOf(e)
		said[rank], on[rank] = true, ahp.Enabled([]ahp.CustomizationEnablement{e})
	}
	far := false
	h.decide(tx, scopeOfSession(session), a.ID, said[1], on[1])
	if w := scopeOfWorkspace(s); w != "" {
		far = h.decide(tx, w, a.ID, said[2], on[2])
	}
	far = h.decide(tx, scopeAll, a.ID, said[3], on[3]) || far
	tx.Effect(customsLane(session), func(context.Context) {
		h.recustomize(session)
		if far {
			h.customizeAll()
		}
	})
}

func (h *Host) decide(tx *hub.Tx, scope, id string, said, on bool) (changed bool) {
	c := &h.customs
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
		tx.Record(bucketCustoms, scope, nil)
		return true
	}
	raw, _ := json.Marshal(c.decided[scope]) // booleans
	tx.Record(bucketCustoms, scope, raw)
	return true
}

// forgetDecisions drops those of a session that is gone for good.
func (h *Host) forgetDecisions(tx *hub.Tx, session ahp.URI) {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	if scope := scopeOfSession(session); c.decided[scope] != nil {
		delete(c.decided, scope)
		tx.Record(bucketCustoms, scope, nil)
	}
}

// resolver answers what was decided for one session. The lock of customs is held.
type resolver struct {
	c                  *customs
	session, workspace string
	dir                ahp.URI
}

func (c *customs) resolver(session ahp.URI, s *ahp.SessionState) resolver {
	r := resolver{c: c, session: scopeOfSession(session), workspace: scopeOfWorkspace(s)}
	if len(s.WorkingDirectories) > 0 {
		r.dir = s.WorkingDirectories[0]
	}
	return r
}

// of lists the decisions on an entry, the nearest first. A client's own counts where the host has none.
func (r resolver) of(id string, published []ahp.CustomizationEnablement) (list []ahp.CustomizationEnablement) {
	if on, ok := r.c.decided[r.session][id]; ok {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationSessionEnablement{Enabled: on}})
	}
	if on, ok := r.c.decided[r.workspace][id]; ok && r.workspace != "" {
		list = append(list, ahp.CustomizationEnablement{Value: &ahp.CustomizationWorkspaceEnablement{URI: r.dir, Enabled: on}})
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

// decided is a copy of an entry with the decisions on it and the states of its servers.
func (r resolver) decided(c ahp.Customization, n *customized) ahp.Customization {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		p := *v
		p.Enablement, p.Children = r.of(p.ID, p.Enablement), r.children(p.Children, n)
		return ahp.Customization{Value: &p}
	case *ahp.DirectoryCustomization:
		d := *v
		d.Enabled, d.Children = ahp.Enabled(r.of(d.ID, nil)), r.children(d.Children, n)
		return ahp.Customization{Value: &d}
	case *ahp.McpServerCustomization:
		return ahp.Customization{Value: r.server(v, n)}
	}
	return c
}

func (r resolver) children(list []ahp.ChildCustomization, n *customized) []ahp.ChildCustomization {
	if list == nil {
		return nil
	}
	out := make([]ahp.ChildCustomization, len(list))
	for i, c := range list {
		out[i] = r.childDecided(c, n)
	}
	return out
}

func (r resolver) childDecided(c ahp.ChildCustomization, n *customized) ahp.ChildCustomization {
	if m, ok := c.Value.(*ahp.McpServerCustomization); ok {
		return ahp.ChildCustomization{Value: r.server(m, n)}
	}
	if d := r.of(childID(c), nil); len(d) > 0 {
		return withEnabled(c, ahp.Enabled(d))
	}
	return c
}

// withEnabled is a copy of a leaf that is on or off.
func withEnabled(c ahp.ChildCustomization, on bool) ahp.ChildCustomization {
	switch v := c.Value.(type) {
	case *ahp.AgentCustomization:
		x := *v
		x.Enabled = &on
		return ahp.ChildCustomization{Value: &x}
	case *ahp.SkillCustomization:
		x := *v
		x.Enabled = &on
		return ahp.ChildCustomization{Value: &x}
	case *ahp.PromptCustomization:
		x := *v
		x.Enabled = &on
		return ahp.ChildCustomization{Value: &x}
	case *ahp.RuleCustomization:
		x := *v
		x.Enabled = &on
		return ahp.ChildCustomization{Value: &x}
	case *ahp.HookCustomization:
		x := *v
		x.Enabled = &on
		return ahp.ChildCustomization{Value: &x}
	}
	return c
}

func (r resolver) server(m *ahp.McpServerCustomization, n *customized) *ahp.McpServerCustomization {
	x := *m
	x.Enablement = r.of(x.ID, x.Enablement)
	if v := n.servers[x.ID]; v != nil {
		x.State, x.Meta = v.now(), nil
		if !r.c.mayRun(v) {
			x.Meta = ahp.Meta{untrustedKey: json.RawMessage("true")}
		}
	}
	return &x
}
