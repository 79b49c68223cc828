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

// runInSandbox runs the commands that a sandbox starts of this program, and returns for every other. They begin each
// program of a session, so they read neither flags nor files, and help does not list them.
func runInSandbox(command string, args []string) {
	run := map[string]func([]string) error{box.HoldCommand: box.Hold, box.ExecCommand: box.Exec}[command]
	if run == nil {
		return
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, "ahphub:", err)
		os.Exit(127) // as a shell whose command cannot run
	}
	os.Exit(0)
}
