package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func firstAgent(agents map[string]agent.Backend) string {
	return slices.Sorted(maps.Keys(agents))[0]
}

// openRoot makes the root channel, or brings the one of the last run up to date
// (AHP requirement 48).
func (h *Host) openRoot(ctx context.Context) error {
	agents := h.describeAgents(ctx)
	h.agents = agents
	if _, known := h.core.Hub.Info(ahp.RootURI); known {
		if err := h.core.Hub.Ensure(ctx, h.core.Loader(), ahp.RootURI); err != nil {
			return fmt.Errorf("host: %w", err)
		}
	}
	return h.core.Do(ctx, func(tx *hub.Tx) {
		if tx.State(ahp.RootURI) == nil {
			err := tx.Open(core.RootInfo, &ahp.RootState{Agents: agents,
				ActiveSessions: ahp.Ptr(int64(0)), Terminals: []ahp.TerminalInfo{}})
			if err != nil {
				h.core.Log.Error("the root channel cannot be opened", "err", err)
			}
			return
		}
		tx.Apply(ahp.RootURI, &ahp.RootAgentsChangedAction{Agents: agents})
	})
}

// describeAgents lists the default agent first. One that cannot describe itself is
// listed by its name, so that its sessions fail with its own error and not silently.
func (h *Host) describeAgents(ctx context.Context) []ahp.AgentInfo {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	names := slices.Sorted(maps.Keys(h.cfg.Agents))
	names = slices.DeleteFunc(names, func(n string) bool { return n == h.cfg.DefaultAgent })
	infos := make([]ahp.AgentInfo, 0, len(names)+1)
	for _, name := range append([]string{h.cfg.DefaultAgent}, names...) {
		info, err := h.cfg.Agents[name].Describe(ctx)
		if err != nil {
			h.core.Log.Warn("an agent cannot describe itself", "agent", name, "err", err)
			info = ahp.AgentInfo{DisplayName: name, Description: "not available: " + err.Error()}
		}
		info.Provider = name
		if info.Models == nil {
			info.Models = []ahp.SessionModelInfo{}
		}
		info.Capabilities = withChats(info.Capabilities)
		if h.UsesServers(name) {
			info.Customizations = h.Customs.ListHome(ctx)
		}
		infos = append(infos, info)
	}
	return infos
}

// withChats offers several chats, forks and side chats for every agent that does not say otherwise: the
// host keeps the transcripts and hands them over with each prompt.
func withChats(c *ahp.AgentCapabilities) *ahp.AgentCapabilities {
	all := ahp.AgentCapabilities{}
	if c != nil {
		all = *c
	}
	if all.MultipleChats == nil {
		all.MultipleChats = &ahp.MultipleChatsCapability{Fork: ahp.Ptr(true), SideChat: ahp.Ptr(true)}
	}
	return &all
}
