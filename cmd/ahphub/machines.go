package main

import (
	"context"
	"net/http"

	endpoint "github.com/ahphub/ahphub/handlers/machines"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/sandbox"
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

// openMachines reads the machines of this hub, and creates what serves their connections. If the
// key that seals the hub's key is missing, the hub works without machines.
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
	a.joins, err = endpoint.New(endpoint.Config{Registry: registry, Audit: a.audit, Log: a.log, Version: versionName(), Name: a.nameOf,
		Serve: a.useMachine})
	if err != nil {
		return err
	}
	a.roster = fleet.NewRoster(fleet.Config{Registry: registry, Log: a.log,
		Tools: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.agentTools.ServeHTTP(w, r) })})
	return nil
}

// useMachine serves the connection of a machine until it ends.
func (a *app) useMachine(ctx context.Context, peer *join.Peer, _ uint64) {
	if err := a.roster.Serve(ctx, peer.Machine.ID, peer); err != nil {
		a.log.Debug("the connection of a machine has ended", "machine", peer.Machine.Name, "err", err)
	}
}

// isolationOf returns the isolation mode that an agent's machine reports; ok is false for agents of
// this computer.
func (a *app) isolationOf(provider string) (mode sandbox.Mode, ok bool) {
	id, _ := place.SplitProvider(provider)
	if id == "" || a.machines == nil {
		return "", false
	}
	for _, s := range a.machines.List() {
		if mode, err := sandbox.ParseMode(s.Report.Sandbox); s.ID == id && err == nil && mode != sandbox.Auto {
			return mode, true
		}
	}
	return sandbox.None, true
}

// joinHandler serves the WebSockets of machines; nil if none can join.
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
