package host

import (
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// CheckTemplate returns why no session can be created from a template now, as an *ahp.Error.
func (h *Host) CheckTemplate(ctx context.Context, t ahp.AutomationSessionTemplate) error {
	name := h.agents.Name(t.Provider)
	backend, err := h.agents.Find(name)
	if err != nil {
		return err
	}
	if _, err := h.newDirs(ctx, "", name, t.WorkingDirectories); err != nil {
		return err
	}
	if _, err := newConfig(h.schemaOf(backend), t.Config); err != nil {
		return err
	}
	models := h.agents.Info(name).Models
	if t.Model == nil || len(models) == 0 {
		return nil
	}
	if !slices.ContainsFunc(models, func(m ahp.SessionModelInfo) bool { return m.ID == t.Model.ID }) {
		return core.BadParams("model: the agent %s has no model %.80q. Leave it out, or choose one that the agent lists",
			name, t.Model.ID)
	}
	return nil
}
