package core

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Store reads what was kept. The host writes through the hub's journal alone, so that its records are in order with the
// envelopes.
type Store interface {
	hub.Loader
	Records(ctx context.Context, bucket string) ([]hub.Record, error)
	Get(ctx context.Context, bucket, key string) ([]byte, bool, error)
}

// Wake loads a channel and, before it, the session into which its changes are aggregated.
func (c *Core) Wake(ctx context.Context, info hub.ChannelInfo) error {
	if info.Session != "" && info.Session != info.URI {
		if err := c.Ensure(ctx, info.Session); err != nil {
			return err
		}
	}
	return c.Ensure(ctx, info.URI)
}

// Ensure loads a channel that sleeps.
func (c *Core) Ensure(ctx context.Context, uri ahp.URI) error {
	_, _, awake := c.Hub.State(uri)
	if err := c.Hub.Ensure(ctx, c.Loader(), uri); err != nil {
		return err
	}
	if !awake {
		c.Woken(uri)
	}
	return nil
}

// Loader returns the store. Without one channels never sleep, and loading fails.
func (c *Core) Loader() hub.Loader {
	if c.Store == nil {
		return noStore{}
	}
	return c.Store
}

type noStore struct{}

func (noStore) Load(_ context.Context, uri ahp.URI) (hub.Loaded, error) {
	return hub.Loaded{}, fmt.Errorf("%s sleeps, and there is no store to load it from", uri)
}
