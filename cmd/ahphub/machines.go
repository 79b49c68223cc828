package main

import (
	"context"
	"io"
	"net/http"

	endpoint "github.com/ahphub/ahphub/handlers/machines"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/secret"
)

// machineSeal seals the hub's key for machines.
type machineSeal struct{ keys *secret.Keys }

var machineKeyLabel = secret.Label{Kind: "machines", Name: "key"}

// Seal implements machines.Sealing.
func (s machineSeal) Seal(value []byte) string { return s.keys.Seal(machineKeyLabel, value) }

// Open implements machines.Sealing.
func (s machineSeal) Open(sealed string) ([]byte, error) { return s.keys.Open(machineKeyLabel, sealed) }

// Reseal implements machines.Sealing.
func (s machineSeal) Reseal(sealed string) (again string, changed bool, err error) {
	return s.keys.Reseal(machineKeyLabel, sealed)
}

// openMachines reads which computers belong to this hub, and makes what serves their connections. Without the key that
// seals the hub's own, the hub works without machines.
func (a *app) openMachines(ctx context.Context) error {
	registry, err := machines.Open(ctx, machines.Config{Docs: a.docs, Seal: machineSeal{a.keys}})
	if secret.IsLocked(err) {
		a.log.Error("no machine can connect until the key of secrets is back", "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	a.machines = registry
	a.joins, err = endpoint.New(endpoint.Config{Registry: registry, Audit: a.audit, Log: a.log, Name: a.nameOf,
		Serve: holdMachine})
	return err
}

// holdMachine keeps a machine connected until it goes.
func holdMachine(_ context.Context, peer *join.Peer, _ uint64) { _, _ = io.Copy(io.Discard, peer) }

// joinHandler serves the sockets of machines; nil when there are none.
func (a *app) joinHandler() http.Handler {
	if a.joins == nil {
		return nil
	}
	return a.joins
}

// nameOf returns the name of the owner or of a member; "" for others.
func (a *app) nameOf(id string) string {
	if id == a.owner.ID {
		return a.owner.Name
	}
	if p, ok := a.members.Principal(id); ok {
		return p.Name
	}
	return ""
}
