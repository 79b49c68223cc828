package core

import (
	"context"
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Store reads stored data. The host writes only through the hub's journal, which keeps its records
// in order with the envelopes.
type Store interface {
	hub.Loader
	Records(ctx context.Context, bucket string) ([]hub.Record, error)
	Get(ctx context.Context, bucket, key string) ([]byte, bool, error)
}

// Wake loads a channel. It first loads the session that aggregates the channel's changes.
func (c *Core) Wake(ctx context.Context, info hub.ChannelInfo) error {
	if info.Session != "" && info.Session != info.URI {
		if err := c.Ensure(ctx, info.Session); err != nil {
			return err
		}
	}
	return c.Ensure(ctx, info.URI)
}

// Ensure loads a channel if it is unloaded.
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

// Loader returns the store. Without one, channels are never unloaded, and loading fails.
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
