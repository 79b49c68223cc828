package customs

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// Conversion of customizations on disk to the protocol's types, without commands, arguments and
// variables (AHP requirement 151).

const (
	// ProblemKey is the key in a child's `_meta` for why it cannot be used; the protocol has no
	// field for that.
	ProblemKey = "ahphub/problem"
	// aboutKey is the key in a hook's `_meta` for its description.
	aboutKey = "ahphub/about"
	// untrustedKey marks an MCP server that the owner has not allowed to run.
	untrustedKey = "ahphub/untrusted"
)

// group converts a group into a container, and adds the servers in it.
func (n *contents) group(r machine.CustomRoot, g machine.CustomGroup) ahp.Customization {
	children := make([]ahp.ChildCustomization, 0, len(g.Entries))
	for _, e := range g.Entries {
		children = append(children, n.child(r, e))
	}
	uri, load := core.FileURI(g.Path), loadState(g)
	if _, failed := load.Value.(*ahp.CustomizationErrorState); failed {
		children = nil // absent, as unreadable is not empty (AHP requirement 146)
	}
	if g.Plugin {
		return ahp.Customization{Value: &ahp.PluginCustomization{
			ID: g.ID, URI: uri, Name: g.Name, Version: g.Version, Load: load, Children: children}}
	}
	return ahp.Customization{Value: &ahp.DirectoryCustomization{
		ID: g.ID, URI: uri, Name: g.Name, Load: load, Children: children, Enabled: true,
		Contents: ahp.ChildCustomizationType(g.Contents),
		Writable: r.Place == machine.WorkspacePlace && g.Contents != machine.CustomHook}}
}

// loadState returns the load state of a group: degraded if an entry has a problem.
func loadState(g machine.CustomGroup) *ahp.CustomizationLoadState {
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
		return &ahp.CustomizationLoadState{Value: &ahp.CustomizationDegradedState{
			Message: fmt.Sprintf("%s; and %d more", first, bad-1)}}
	}
	return &ahp.CustomizationLoadState{Value: &ahp.CustomizationLoadedState{}}
}

func (n *contents) child(r machine.CustomRoot, e machine.CustomEntry) ahp.ChildCustomization {
	uri, span, meta := core.FileURI(e.Path), lineRange(e), newMeta(ProblemKey, e.Problem)
	switch e.Kind {
	case machine.CustomServer:
		return ahp.ChildCustomization{Value: n.server(r, e)}
	case machine.CustomAgent:
		return ahp.ChildCustomization{Value: &ahp.AgentCustomization{
			ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description, Model: e.Model, Tools: e.Tools,
			DisableModelInvocation: trueOrNil(e.NoModel), DisableUserInvocation: trueOrNil(e.NoUser), Meta: meta}}
	case machine.CustomSkill:
		return ahp.ChildCustomization{Value: &ahp.SkillCustomization{
			ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description,
			DisableModelInvocation: trueOrNil(e.NoModel), DisableUserInvocation: trueOrNil(e.NoUser), Meta: meta}}
	case machine.CustomPrompt:
		return ahp.ChildCustomization{Value: &ahp.PromptCustomization{
			ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description, Meta: meta}}
	case machine.CustomRule:
		return ahp.ChildCustomization{Value: &ahp.RuleCustomization{
			ID: e.ID, URI: uri, Name: e.Name, Range: span, Description: e.Description,
			AlwaysApply: e.Always, Globs: e.Globs, Meta: meta}}
	}
	if meta == nil {
		meta = newMeta(aboutKey, e.Description)
	}
	return ahp.ChildCustomization{Value: &ahp.HookCustomization{ID: e.ID, URI: uri, Name: e.Name, Range: span,
		Meta: meta}}
}

// server converts a declared MCP server to a stopped one, and adds it to the contents.
func (n *contents) server(r machine.CustomRoot, e machine.CustomEntry) *ahp.McpServerCustomization {
	n.servers[e.ID] = newServer(e, r.Place)
	return &ahp.McpServerCustomization{ID: e.ID, URI: core.FileURI(e.Path), Name: e.Name, Range: lineRange(e),
		State: ahp.McpServerState{Value: &ahp.McpServerStoppedState{}}}
}

func lineRange(e machine.CustomEntry) *ahp.TextRange {
	if e.Line == 0 {
		return nil
	}
	line := int64(e.Line - 1)
	return &ahp.TextRange{Start: ahp.TextPosition{Line: line}, End: ahp.TextPosition{Line: line + 1}}
}

func newMeta(key, text string) ahp.Meta {
	if text == "" {
		return nil
	}
	raw, _ := json.Marshal(text) // a string
	return ahp.Meta{key: raw}
}

func trueOrNil(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}

func uriOf(c ahp.Customization) ahp.URI {
	switch v := c.Value.(type) {
	case *ahp.PluginCustomization:
		return v.URI
	case *ahp.DirectoryCustomization:
		return v.URI
	}
	return ""
}

// hasCustomization reports whether a session has an entry or child with this id.
func hasCustomization(s *ahp.SessionState, id string) bool {
	for _, c := range s.Customizations {
		if c.ID() == id {
			return true
		}
		for _, x := range c.Children() {
			if x.ID() == id {
				return true
			}
		}
	}
	return false
}

// eachServer calls f with each MCP server of a session, and whether it is enabled. In a plugin,
// both must be.
func eachServer(s *ahp.SessionState, f func(m *ahp.McpServerCustomization, on bool)) {
	for _, c := range s.Customizations {
		if m, ok := c.Value.(*ahp.McpServerCustomization); ok {
			f(m, ahp.Enabled(m.Enablement))
			continue
		}
		outer := true
		if p, ok := c.Value.(*ahp.PluginCustomization); ok {
			outer = ahp.Enabled(p.Enablement)
		}
		for _, x := range c.Children() {
			if m, ok := x.Value.(*ahp.McpServerCustomization); ok {
				f(m, outer && ahp.Enabled(m.Enablement))
			}
		}
	}
}

// findListed returns an MCP server of a session by its id, and whether it is enabled.
func findListed(s *ahp.SessionState, id string) (found *ahp.McpServerCustomization, on bool) {
	eachServer(s, func(m *ahp.McpServerCustomization, is bool) {
		if m.ID == id && found == nil {
			found, on = m, is
		}
	})
	return found, on
}
