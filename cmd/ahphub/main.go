// Command ahphub hosts coding agents for a team: clients of the Agent Host Protocol and
// browsers reach them at one address.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ahphub/ahphub/hub/sandbox/box"
)

func main() {
	if len(os.Args) > 1 {
		runInSandbox(os.Args[1], os.Args[2:])
	}
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

// runInSandbox runs the command that a sandbox starts of this program, and returns for every other. It reads neither flags
// nor files, and help does not list it. hub/sandbox/box/enter has the other one, which begins each program there.
func runInSandbox(command string, args []string) {
	if command != box.HoldCommand {
		return
	}
	if err := box.Hold(args); err != nil {
		fmt.Fprintln(os.Stderr, "ahphub:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
