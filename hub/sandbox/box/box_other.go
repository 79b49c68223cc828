//go:build !linux

package box

import (
	"errors"
	"os"
	"os/exec"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// errNoLinux explains why there are no boxes on this system.
var errNoLinux = errors.New("sandboxes need Linux, and nothing is kept apart on this system. " +
	"Run ahphub as a separate user, or on Linux")

// Boxes starts nothing on this system.
type Boxes struct{}

// New returns Boxes that start nothing.
func New(Config) *Boxes { return &Boxes{} }

// Start refuses.
func (*Boxes) Start(*exec.Cmd, *sandbox.Policy, ...string) error { return errNoLinux }

// OpenTerminal refuses.
func (*Boxes) OpenTerminal(*sandbox.Policy) (pty, tty *os.File, err error) {
	return nil, nil, errNoLinux
}

// SweepGroups does nothing.
func (*Boxes) SweepGroups() {}

// Check refuses.
func (*Boxes) Check(*sandbox.Policy) error { return errNoLinux }

// End does nothing.
func (*Boxes) End(string) {}

// Forget does nothing.
func (*Boxes) Forget(string) error { return nil }

// Close does nothing.
func (*Boxes) Close() {}

// Container reports no container.
func (*Boxes) Container(string) (info sandbox.ContainerInfo, ok bool) { return info, false }

// Report reports that nothing works.
func (*Boxes) Report() Report {
	return Report{Namespace: errNoLinux.Error(), Open: errNoLinux.Error(), Landlock: errNoLinux.Error(),
		Container: errNoLinux.Error()}
}
