package main

import (
	"io"
	"os"

	"github.com/ahphub/ahphub/hub/mcp"
)

// mcpCommand is started by agents without HTTP, with an address and a token of the host in the
// environment, because all users of a machine can see arguments.
type mcpCommand struct{}

func (mcpCommand) Run(e *environment) error {
	return mcp.Bridge{URL: os.Getenv(mcp.EnvURL), Token: os.Getenv(mcp.EnvToken), Version: versionName(),
		In: os.Stdin, Out: writeCloser{e.stdout}}.Run(e.ctx)
}

// writeCloser is closed when the program ends.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }
