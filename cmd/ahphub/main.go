// Command ahphub hosts coding agents for a team: clients of the Agent Host Protocol and
// browsers reach them at one address.
package main

import (
	"context"
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
		os.Exit(1)
	}
}
