package host

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
)

// openRoot creates the root channel, or updates the one of the last run.
func (h *Host) openRoot(ctx context.Context) error {
	if _, known := h.core.Hub.Info(ahp.RootURI); known {
		if err := h.core.Hub.Ensure(ctx, h.core.Loader(), ahp.RootURI); err != nil {
			return fmt.Errorf("host: %w", err)
		}
	}
	return h.agents.Open(ctx)
}
