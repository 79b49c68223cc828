package customs

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// maxPlugins limits the plugins shown per client.
const maxPlugins = 100

// readPlugins reads clients' plugins inside the session's roots. Others are shown as described by
// the client.
func (p *Part) readPlugins(ctx context.Context, s *ahp.SessionState, roots []machine.CustomRoot, next *contents) {
	for _, client := range s.ActiveClients {
		for _, plugin := range client.Customizations[:min(len(client.Customizations), maxPlugins)] {
			path, ok := core.FilePath(plugin.URI)
			if !ok {
				continue
			}
			for _, r := range roots {
				if r.Place == machine.OwnPlace || !strings.HasPrefix(path, r.Dir+string(filepath.Separator)) {
					continue
				}
				if g, ok := p.cfg.Customs.ReadPlugin(ctx, r, path); ok {
					next.plugins[plugin.URI] = next.group(r, g)
					break
				}
			}
		}
	}
}

// clientPlugins returns the containers of the session's clients, with the clients' ids. They are
// removed when their client leaves (AHP requirement 147). Containers that the host found itself are
// skipped.
func (r resolver) clientPlugins(s *ahp.SessionState, n *contents, have []ahp.Customization) (list []ahp.Customization) {
	taken := map[string]bool{}
	for _, c := range have {
		taken[c.ID()] = true
		taken[uriOf(c)] = true
		for _, x := range c.Children() {
			taken[x.ID()] = true
		}
	}
	for _, client := range s.ActiveClients {
		for _, p := range client.Customizations[:min(len(client.Customizations), maxPlugins)] {
			if p.ID == "" || taken[p.ID] || taken[p.URI] {
				continue
			}
			taken[p.ID] = true
			list = append(list, r.resolve(ahp.Customization{Value: r.clientPlugin(client, p, n)}, n))
		}
	}
	return list
}

// clientPlugin converts a plugin published by a client.
func (r resolver) clientPlugin(client ahp.SessionActiveClient, p ahp.ClientPluginCustomization,
	n *contents) *ahp.PluginCustomization {
	out := &ahp.PluginCustomization{ID: p.ID, URI: p.URI, Name: p.Name, Icons: p.Icons, Range: p.Range,
		Enablement: p.Enablement, ClientID: client.ClientID, Load: p.Load, Children: p.Children, Version: p.Version,
		Meta: p.Meta}
	if read, ok := n.plugins[p.URI].Value.(*ahp.PluginCustomization); ok {
		out.Load, out.Children = read.Load, read.Children
	}
	out.Children = withEnablement(out.Children, p.ChildEnablement)
	return out
}

// withEnablement applies a client's decisions, by name, to children.
func withEnablement(list []ahp.ChildCustomization,
	by map[string][]ahp.CustomizationEnablement) []ahp.ChildCustomization {
	if len(by) == 0 || list == nil {
		return list
	}
	out := make([]ahp.ChildCustomization, len(list))
	for i, c := range list {
		said, ok := by[c.Name()]
		m, server := c.Value.(*ahp.McpServerCustomization)
		switch {
		case !ok:
			out[i] = c
		case server:
			x := *m
			x.Enablement = said
			out[i] = ahp.ChildCustomization{Value: &x}
		default:
			out[i] = c.WithEnabled(ahp.Enabled(said))
		}
	}
	return out
}
