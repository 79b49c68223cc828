package main

import (
	"io"
	"os"

	"github.com/ahphub/ahphub/hub/mcp"
)

// mcpCommand is started by agents that know no HTTP, with an address and a token of the
// host's in the environment: arguments can be seen by everybody on a machine.
type mcpCommand struct{}

func (mcpCommand) Run(e *environment) error {
	return mcp.Bridge{URL: os.Getenv(mcp.EnvURL), Token: os.Getenv(mcp.EnvToken), Version: versionName(),
		In: os.Stdin, Out: writeCloser{e.stdout}}.Run(e.ctx)
}

// writeCloser leaves closing to the end of the program.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
