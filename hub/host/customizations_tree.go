package host

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host/core"
)

// What lies on disk in the protocol's shapes. Commands, arguments and variables are not among them (AHP requirement 151).

const (
	// problemKey is where the `_meta` of a child says why it cannot be used: the protocol has no place for that.
	problemKey = "ahphub/problem"
	// aboutKey is where the `_meta` of a hook says what it is for.
	aboutKey = "ahphub/about"
	// untrustedKey marks an MCP server that is not trusted to run.
	untrustedKey = "ahphub/untrusted"
)

// group makes a container of what was found, and notes the servers in it.
func (n *customized) group(r custom.Root, g custom.Group) ahp.Customization {
	children := make([]ahp.ChildCustomization, 0, len(g.Entries))
	for _, e := range g.Entries {
		children = append(children, n.child(r, e))
	}
	uri, load := core.FileURI(g.Path), loadOf(g)
	if g.Plugin {
		return ahp.Customization{Value: &ahp.PluginCustomization{ID: g.ID, URI: uri, Name: g.Name, Version: g.Version, Load: load, Children: children}}
	}
	return ahp.Customization{Value: &ahp.DirectoryCustomization{ID: g.ID, URI: uri, Name: g.Name, Load: load, Children: children, Enabled: true,
		Contents: ahp.ChildCustomizationType(g.Contents), Writable: r.Place == custom.Workspace && g.Contents != custom.Hook}}
}

// loadOf says how far reading came: in part, when some entry has a problem.
func loadOf(g custom.Group) *ahp.CustomizationLoadState {
	bad, first := 0, ""
	for _, e := range g.Entries {
		if e.Problem != "" {
			bad++
			first = cmp.Or(first, e.Name+" "+e.Problem)
		}
	}
	switch {
	case g.Problem != "" && len(g.Entries) == 0:
		return &ahp.CustomizationLoadState{Value: &ahp.CustomizationErrorState{Message: g.Problem}}
	case g.Problem != "":
		return &ahp.CustomizationLoadState{Value: &ahp.CustomizationDegradedState{Message: g.Problem}}
	case bad == 1:
		return &ahp.CustomizationLoadState{Value: &ahp.CustomizationDegradedState{Message: first}}
	case bad > 1:
		return &ahp.CustomizationLoadState{Value: &ahp.CustomizationDegradedState{Message: fmt.Sprintf("%s; and %d more", first, bad-1)}}
	}
	return &ahp.CustomizationLoadState{Value: &ahp.CustomizationLoadedState{}}
}

func (n *customized) child(r custom.Root, e custom.Entry) ahp.ChildCustomization {
	uri, span, meta := core.FileURI(e.Path), spanOf(e), noteOf(problemKey, e.Problem)
	switch e.Kind {
	case custom.Server:
		return ahp.ChildCustomization{Value: n.server(r, e)}
	case custom.Agent:
		return ahp.ChildCustomization{Value: &ahp.AgentCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description, Model: e.Model,
			Tools: e.Tools, DisableModelInvocation: yesOrNil(e.NoModel), DisableUserInvocation: yesOrNil(e.NoUser), Meta: meta}}
	case custom.Skill:
		return ahp.ChildCustomization{Value: &ahp.SkillCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description,
			DisableModelInvocation: yesOrNil(e.NoModel), DisableUserInvocation: yesOrNil(e.NoUser), Meta: meta}}
	case custom.Prompt:
		return ahp.ChildCustomization{Value: &ahp.PromptCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description, Meta: meta}}
	case custom.Rule:
		return ahp.ChildCustomization{Value: &ahp.RuleCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description,
			AlwaysApply: e.Always, Globs: e.Globs, Meta: meta}}
	}
	if meta == nil {
		meta = noteOf(aboutKey, e.Description)
	}
	return ahp.ChildCustomization{Value: &ahp.HookCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span, Meta: meta}}
}

// server is an MCP server that does not run; its runtime is noted beside it.
func (n *customized) server(r custom.Root, e custom.Entry) *ahp.McpServerCustomization {
	n.servers[e.ID] = newServer(e, r.Place)
	return &ahp.McpServerCustomization{ID: e.ID, URI: core.FileURI(e.Path), Name: e.Name, Range: spanOf(e), State: ahp.McpServerState{Value: &ahp.McpServerStoppedState{}}}
}

func spanOf(e custom.Entry) *ahp.TextRange {
	if e.Line == 0 {
		return nil
	}
	line := int64(e.Line - 1)
	return &ahp.TextRange{Start: ahp.TextPosition{Line: line}, End: ahp.TextPosition{Line: line + 1}}
}

func noteOf(key, text string) ahp.Meta {
	if text == "" {
		return nil
	}
	raw, _ := json.Marshal(text) // a string
	return ahp.Meta{key: raw}
}

func yesOrNil(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}

// customizationID is the id of a top-level entry.
func customizationID(c ahp.Customization) string {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		return v.ID
	case *ahp.DirectoryCustomization:
		return v.ID
	case *ahp.McpServerCustomization:
		return v.ID
	}
	return ""
}

func customizationURI(c ahp.Customization) ahp.URI {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		return v.URI
	case *ahp.DirectoryCustomization:
		return v.URI
	}
	return ""
}

func childrenOf(c ahp.Customization) []ahp.ChildCustomization {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		return v.Children
	case *ahp.DirectoryCustomization:
		return v.Children
	}
	return nil
}

func childID(c ahp.ChildCustomization) string {
	switch v := c.Value.(type) {
	case *ahp.AgentCustomization:
		return v.ID
	case *ahp.SkillCustomization:
		return v.ID
	case *ahp.PromptCustomization:
		return v.ID
	case *ahp.RuleCustomization:
		return v.ID
	case *ahp.HookCustomization:
		return v.ID
	case *ahp.McpServerCustomization:
		return v.ID
	}
	return ""
}

// hasCustomization reports whether a session has an entry, top level or inside.
func hasCustomization(s *ahp.SessionState, id string) bool {
	for _, c := range s.Customizations {
		if customizationID(c) == id {
			return true
		}
		for _, x := range childrenOf(c) {
			if childID(x) == id {
				return true
			}
		}
	}
	return false
}

// listedServers calls f with each MCP server of a session, and whether it is on: inside of a plugin both must be.
func listedServers(s *ahp.SessionState, f func(m *ahp.McpServerCustomization, on bool)) {
	for _, c := range s.Customizations {
		if m, ok := c.Value.(*ahp.McpServerCustomization); ok {
			f(m, ahp.Enabled(m.Enablement))
			continue
		}
		outer := true
		if p, ok := c.Value.(*ahp.PluginCustomization); ok {
			outer = ahp.Enabled(p.Enablement)
		}
		for _, x := range childrenOf(c) {
			if m, ok := x.Value.(*ahp.McpServerCustomization); ok {
				f(m, outer && ahp.Enabled(m.Enablement))
			}
		}
	}
}

// listedServer finds one by its id.
func listedServer(s *ahp.SessionState, id string) (found *ahp.McpServerCustomization, on bool) {
	listedServers(s, func(m *ahp.McpServerCustomization, is bool) {
		if m.ID == id && found == nil {
			found, on = m, is
		}
	})
	return found, on
}
