package localtest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
)

// PipeVariable is the environment variable that makes tests reach their computer over an encoded connection, like a
// remote machine: make test-machines.
const PipeVariable = "AHPHUB_TEST_PIPE"

// IsPiped reports whether tests reach their computer by an encoded connection.
func IsPiped() bool { return os.Getenv(PipeVariable) != "" }

// Reach returns m as a test reaches it: m itself or, with PipeVariable, the other end of a connection to it, made like
// a hub's connection to its machines.
func Reach(t testing.TB, m machine.Machine) machine.Machine {
	t.Helper()
	if !IsPiped() {
		return m
	}
	route := fleet.NewRoute(Pipe(t, m), alone{})
	t.Cleanup(route.Close)
	return route
}

// alone is the machines of a hub without joined machines.
type alone struct{}

func (alone) Machines() []fleet.Member                        { return nil }
func (alone) Watch() (changed <-chan struct{}, cancel func()) { return nil, func() {} }

// ReachAgents returns agents as a test reaches their computer.
func ReachAgents(t testing.TB, agents map[string]agent.Backend) map[string]agent.Backend {
	t.Helper()
	if !IsPiped() {
		return agents
	}
	return Pipe(t, local.New(local.WithAgents(agents))).Agents()
}

// Pipe returns a machine that is m at the other end of a connection, until the test has ended.
func Pipe(t testing.TB, m machine.Machine) machine.Machine {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	hub, computer := net.Pipe()
	far, near := remote.NewServer(m, remote.Config{Log: log}), remote.New(remote.Config{Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = far.Serve(ctx, computer) }) // ends with ctx
	wg.Go(func() { _ = near.Serve(ctx, hub) })
	t.Cleanup(func() {
		near.Close()
		cancel()
		wg.Wait()
		far.Close()
	})
	if err := near.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return near
}
