package acp_test

import (
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/sandbox"
)

func TestBackendStartsItsProgramByStart(t *testing.T) {
	var started atomic.Int32
	newWorld(t, acp.Backend{Program: program("plain"), Start: func(cmd *exec.Cmd, _ *sandbox.Policy, _ ...string) error {
		started.Add(1)
		return cmd.Start()
	}}).until("the program is started", func() bool { return started.Load() == 1 })
}
