package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/store"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// leading is what the hub of a cluster's leader uses for a term.
type leading struct {
	store  *store.Store // the node's store, which outlives the term
	append store.Append

	confirm func() error // returns nil while no other node can lead

	nodes  *manage.Manager // state of the nodes
	keys   *secret.Keys    // the node's keys of secrets
	copies secret.Copies   // copies of the keys on other nodes
}

// openStore opens the data directory, or uses the store of the leading node.
func (a *app) openStore(ctx context.Context) (err error) {
	if a.led != nil {
		a.store = a.led.store
		return nil
	}
	a.store, err = store.Open(ctx, storeConfig(a.cfg, a.log, a.telemetry))
	return err
}

func (a *app) closeStore() error {
	if a.led != nil {
		return nil
	}
	return a.store.Close()
}

func (a *app) boot(ctx context.Context) (hub.Boot, error) {
	if a.led != nil {
		return a.store.BootBy(ctx, a.led.append)
	}
	return a.store.Boot(ctx)
}

// runJournal writes the hub's journal until ctx ends, and then the rest of it.
func (a *app) runJournal(ctx context.Context) error {
	if a.led != nil {
		return a.store.RunBy(ctx, a.hub, a.led.append)
	}
	return a.store.Run(ctx, a.hub)
}

func storeConfig(cfg Config, log *slog.Logger, tel *telemetry.Telemetry) store.Config {
	return store.Config{Dir: cfg.Data, Log: log, Wrote: tel.JournalWrite}
}

// lastAlive returns when the previous process was last alive; zero in a cluster, where the previous
// leader may have been on another computer.
func (a *app) lastAlive() time.Time {
	if a.led != nil {
		return time.Time{}
	}
	return a.store.LastAlive()
}

// drop closes a hub that was built but never served.
func (a *app) drop() error {
	ctx, cancel := context.WithCancel(context.Background())
	return errors.Join(a.serve(ctx, func(context.Context) error { cancel(); return nil }), a.close())
}
