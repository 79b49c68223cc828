package customs

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// maxText limits the bytes of an entry's file that are shown.
const maxText = 256 << 10

// Text is the file of a rule, a skill, an agent or a prompt.
type Text struct {
	Name, Path, Text string
	Cut              bool // the file is longer
}

// ReadText reads the file of an entry that is text for agents. Other files, which declare servers
// and hooks, may contain secrets.
//
// Errors: -32001 no such session, -32009 not the owner, -32008 no such entry, or it cannot be read.
func (p *Part) ReadText(ctx context.Context, c core.Caller, session ahp.URI, id string) (Text, error) {
	if p.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return Text{}, core.NoSession(session)
	}
	if !c.IsOwner() {
		return Text{}, ahp.Errorf(ahp.CodePermissionDenied, "only the owner can read these files here")
	}
	s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok {
		return Text{}, core.NoSession(session)
	}
	name, uri := textOf(s, id)
	path, ok := core.FilePath(uri)
	if !ok {
		return Text{}, ahp.Errorf(ahp.CodeNotFound,
			"there is no such file among this session's customizations: it may be gone by now")
	}
	for _, r := range p.listRoots(s) {
		if !strings.HasPrefix(path, r.Dir+string(filepath.Separator)) {
			continue
		}
		if text, cut, err := p.cfg.Customs.ReadText(ctx, r, path, maxText); err == nil {
			return Text{Name: name, Path: path, Text: text, Cut: cut}, nil
		}
	}
	return Text{}, ahp.Errorf(ahp.CodeNotFound, "%s can't be read. It may have been removed", path)
}

// textOf returns an entry if its file is text for agents.
func textOf(s *ahp.SessionState, id string) (name string, uri ahp.URI) {
	for _, c := range s.Customizations {
		for _, x := range c.Children() {
			if id == "" || x.ID() != id {
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

// Home returns the user's directory, or "" if it is not searched.
func (p *Part) Home() string { return p.cfg.Home }
