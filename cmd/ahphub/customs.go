package main

import (
	"context"
	"os"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/mcp/dial"
)

// computer returns the computer that the hub runs on, and the user's directory, where agents keep settings. It watches
// agents' customizations until the program ends.
func (a *app) computer(ctx context.Context, agents map[string]agent.Backend) (m *local.Machine, home string) {
	library := custom.NewLibrary(custom.Limits{}, a.log)
	a.library = start(context.WithoutCancel(ctx), library.Run)
	home, err := os.UserHomeDir()
	if err != nil {
		a.log.Info("cannot find the user's home directory to look for customizations", "err", err)
	}
	return local.New(local.WithAgents(agents), local.WithGuard(a.guard),
		local.WithCustoms(library, dial.Dialer{Version: versionName(), Pass: a.cfg.pass})), home
}
