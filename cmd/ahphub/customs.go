package main

import (
	"context"
	"os"

	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/mcp"
)

// customize returns where agents' customizations are, and watches them until the program ends.
func (a *app) customize(ctx context.Context) host.Customize {
	library := custom.NewLibrary(custom.Limits{}, a.log)
	a.library = start(context.WithoutCancel(ctx), library.Run)
	home, err := os.UserHomeDir()
	if err != nil {
		a.log.Info("cannot find the user's home directory to look for customizations", "err", err)
	}
	return host.Customize{Library: library, Home: home, Servers: mcp.Dialer{Version: versionName(), Pass: a.cfg.pass}}
}
