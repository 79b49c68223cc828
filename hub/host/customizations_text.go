package host

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host/core"
)

// mostCustomText is how much of an entry's file is shown.
const mostCustomText = 256 << 10

// CustomText is the file of a rule, a skill, an agent or a prompt.
type CustomText struct {
	Name, Path, Text string
	Cut              bool // the file is longer
}

// CustomizationText reads the file of one of a session's entries that is text for agents; files that declare servers and
// hooks may hold secrets. Errors: -32001 no such session, -32009 not the owner, -32008 no such entry, or it cannot be read.
func (h *Host) CustomizationText(c core.Caller, session ahp.URI, id string) (CustomText, error) {
	if h.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return CustomText{}, core.NoSession(session)
	}
	if !c.IsOwner() {
		return CustomText{}, ahp.Errorf(ahp.CodePermissionDenied, "only the owner reads these files here")
	}
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok {
		return CustomText{}, core.NoSession(session)
	}
	name, uri := textOf(s, id)
	path, ok := core.FilePath(uri)
	if !ok {
		return CustomText{}, ahp.Errorf(ahp.CodeNotFound, "there is no such file among this session's customizations: it may be gone by now")
	}
	for _, r := range h.customRoots(s) {
		if !strings.HasPrefix(path, r.Dir+string(filepath.Separator)) {
			continue
		}
		if text, cut, err := custom.Text(r, path, mostCustomText); err == nil {
			return CustomText{Name: name, Path: path, Text: text, Cut: cut}, nil
		}
	}
	return CustomText{}, ahp.Errorf(ahp.CodeNotFound, "%s cannot be read: it may be gone by now", path)
}

// textOf finds an entry whose file is text for agents.
func textOf(s *ahp.SessionState, id string) (name string, uri ahp.URI) {
	for _, c := range s.Customizations {
		for _, x := range childrenOf(c) {
			if id == "" || childID(x) != id {
				continue
			}
			switch v := x.Value.(type) {
			case *ahp.AgentCustomization:
				return v.Name, v.URI
			case *ahp.SkillCustomization:
				return v.Name, v.URI
			case *ahp.PromptCustomization:
				return v.Name, v.URI
			case *ahp.RuleCustomization:
				return v.Name, v.URI
			}
		}
	}
	return "", ""
}

// Customized has a session's customizations be those that there are now, as far as that is known
// within ctx: after it slept,
// or where the system does not tell of changes, they are read only on request.
func (h *Host) Customized(ctx context.Context, session ahp.URI) { h.customizeNow(ctx, session) }

// Home is the user's directory, as far as it is looked at.
func (h *Host) Home() string { return h.cfg.Customize.Home }

// UsesServers reports whether an agent is given a session's MCP servers.
func (h *Host) UsesServers(provider string) bool {
	u, ok := h.cfg.Agents[provider].(agent.ToolUser)
	return ok && u.UsesTools()
}
