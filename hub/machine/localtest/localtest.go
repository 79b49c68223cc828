// Package localtest provides tests with the computer they run on.
package localtest

import (
	"testing"

	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/local"
)

// New returns this computer with an existing hub's data directory, until the test ends. Reach says how it is reached.
func New(t testing.TB, dataDir string, options ...local.Option) machine.Machine {
	t.Helper()
	return Reach(t, local.New(append([]local.Option{WithData(t, dataDir)}, options...)...))
}

// WithData returns the option for a data directory.
func WithData(t testing.TB, dir string) local.Option {
	t.Helper()
	return local.WithData(local.Data{Dir: dir, Guard: NewGuard(t, dir)})
}

// NewGuard returns the guard of a data directory, until the test ends.
func NewGuard(t testing.TB, dataDir string) *guard.Guard {
	t.Helper()
	g, err := guard.New(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() }) // it was only read
	return g
}
