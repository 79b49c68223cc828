// Command ahphub hosts coding agents for a team: clients of the Agent Host Protocol and
// browsers reach them at one address.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	err := hideEnvironment()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = command(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ahphub:", err)
		os.Exit(exitStatus(err))
	}
}

// exitStatus returns 78 (EX_CONFIG of sysexits) for errors that a restart cannot fix, so that
// service managers do not retry.
func exitStatus(err error) int {
	if errors.Is(err, errRemoved) {
		return 78
	}
	return 1
}
