package host

import (
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host/core"
)

// mostPlugins bounds the plugins of one client that are shown.
const mostPlugins = 100

// readPlugins looks into plugins that clients publish, where they lie in a place of the session's own. Into others the
// host does not look: they are shown as the client describes them.
func (h *Host) readPlugins(s *ahp.SessionState, roots []custom.Root, next *customized) {
	for _, client := range s.ActiveClients {
		for _, p := range client.Customizations[:min(len(client.Customizations), mostPlugins)] {
			path, ok := core.FilePath(p.URI)
			if !ok {
				continue
			}
			for _, r := range roots {
				if r.Place == custom.Own || !strings.HasPrefix(path, r.Dir+string(filepath.Separator)) {
					continue
				}
				if g, ok := custom.Plugin(r, path, custom.Limits{}); ok {
					next.plugins[p.URI] = next.group(r, g)
					break
				}
			}
		}
	}
}

// clientPlugins are the containers of the session's clients, under the ids that the clients gave them; a client that
// leaves takes them along (AHP requirement 147). What the host has found itself is not there twice.
func (r resolver) clientPlugins(s *ahp.SessionState, n *customized, have []ahp.Customization) (list []ahp.Customization) {
	taken := map[string]bool{}
	for _, c := range have {
		taken[customizationID(c)] = true
		taken[customizationURI(c)] = true
		for _, x := range childrenOf(c) {
			taken[childID(x)] = true
		}
	}
	for _, client := range s.ActiveClients {
		for _, p := range client.Customizations[:min(len(client.Customizations), mostPlugins)] {
			if p.ID == "" || taken[p.ID] || taken[p.URI] {
				continue
			}
			taken[p.ID] = true
			list = append(list, r.decided(ahp.Customization{Value: r.clientPlugin(client, p, n)}, n))
		}
	}
	return list
}

func (r resolver) clientPlugin(client ahp.SessionActiveClient, p ahp.ClientPluginCustomization, n *customized) *ahp.PluginCustomization {
	out := &ahp.PluginCustomization{ID: p.ID, URI: p.URI, Name: p.Name, Icons: p.Icons, Range: p.Range, Enablement: p.Enablement,
		ClientID: client.ClientID, Load: p.Load, Children: p.Children, Version: p.Version, Meta: p.Meta}
	if read, ok := n.plugins[p.URI].Value.(*ahp.PluginCustomization); ok {
		out.Load, out.Children = read.Load, read.Children
	}
	out.Children = childrenOn(out.Children, p.ChildEnablement)
	return out
}

// childrenOn notes what the client decided on children by their names.
func childrenOn(list []ahp.ChildCustomization, by map[string][]ahp.CustomizationEnablement) []ahp.ChildCustomization {
	if len(by) == 0 || list == nil {
		return list
	}
	out := make([]ahp.ChildCustomization, len(list))
	for i, c := range list {
		said, ok := by[childName(c)]
		m, server := c.Value.(*ahp.McpServerCustomization)
		switch {
		case !ok:
			out[i] = c
		case server:
			x := *m
			x.Enablement = said
			out[i] = ahp.ChildCustomization{Value: &x}
		default:
			out[i] = withEnabled(c, ahp.Enabled(said))
		}
	}
	return out
}

func childName(c ahp.ChildCustomization) string {
	switch v := c.Value.(type) {
	case *ahp.AgentCustomization:
		return v.Name
	case *ahp.SkillCustomization:
		return v.Name
	case *ahp.PromptCustomization:
		return v.Name
	case *ahp.RuleCustomization:
		return v.Name
	case *ahp.HookCustomization:
		return v.Name
	case *ahp.McpServerCustomization:
		return v.Name
	}
	return ""
}
