package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/kept"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/mcp/dial"
)

// computer returns the computer that the hub runs on, and the user's home directory, where agents
// keep settings. It watches agents' customizations until ctx ends.
func (a *app) computer(ctx context.Context, agents map[string]agent.Backend) (m machine.Machine, home string,
	err error) {
	data, err := filepath.Abs(a.cfg.Data)
	if err != nil {
		return nil, "", err
	}
	library := custom.NewLibrary(custom.Limits{}, a.log)
	a.library = start(context.WithoutCancel(ctx), library.Run)
	home, err = os.UserHomeDir()
	if err != nil {
		a.log.Info("cannot find the user's home directory to look for customizations", "err", err)
	}
	own := local.New(local.WithPrograms(a.programs), local.WithAgents(agents), local.WithData(local.Data{Dir: data,
		Guard: a.guard, Pass: a.cfg.pass,
		TrustFilters: a.cfg.TrustFilters, TrustHooks: a.cfg.TrustHooks}),
		local.WithCustoms(library, dial.Dialer{Version: versionName(), Pass: a.cfg.pass}))
	if a.roster == nil {
		return own, home, nil
	}
	store, err := kept.New(a.docs)
	if err != nil {
		return nil, "", err
	}
	a.route = fleet.NewRoute(own, a.roster, fleet.WithKept(store, a.log))
	return a.route, home, nil
}
