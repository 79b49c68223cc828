package host

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub/ahp"
)

// openRoot makes the root channel, or brings the one of the last run up to date.
func (h *Host) openRoot(ctx context.Context) error {
	if _, known := h.core.Hub.Info(ahp.RootURI); known {
		if err := h.core.Hub.Ensure(ctx, h.core.Loader(), ahp.RootURI); err != nil {
			return fmt.Errorf("host: %w", err)
		}
	}
	return h.agents.Open(ctx)
}
