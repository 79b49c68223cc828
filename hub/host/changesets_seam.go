package host

import (
	"context"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

type changesets struct{}

func (h *Host) changesetCatalogue(ahp.URI) []ahp.Changeset { return nil }

func (h *Host) turnStarting(context.Context, turnRef) {}

func (h *Host) turnEnding(context.Context, turnRef) {}

func (h *Host) openChangeset(context.Context, Caller, ahp.URI) (bool, error) { return false, nil }

func (h *Host) closeChangesets(*hub.Tx, ahp.URI) {}

func (h *Host) changesetReviewed(context.Context, ahp.URI, []string, bool, Identity) {}
