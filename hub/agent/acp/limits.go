package acp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/environ"
)

// A control group bounds a program if the system offers one: by systemd's user manager, or its
// system manager for root. A limit on address space would not work: JavaScript engines reserve far
// more than they use.

func (l Limits) isBounded() bool { return l.Memory > 0 || l.CPUs > 0 || l.Processes > 0 }

// wrap returns a command that runs in a scope of its own. It replaces the process that makes the
// scope, so it keeps its process id and group.
func (l Limits) wrap(scope, command []string) []string {
	if !l.isBounded() || scope == nil {
		return command
	}
	out := append([]string{}, scope...)
	property := func(format string, v any) { out = append(out, "-p", fmt.Sprintf(format, v)) }
	if l.Memory > 0 {
		property("MemoryMax=%d", l.Memory)
		property("MemorySwapMax=%d", 0)
	}
	if l.CPUs > 0 {
		property("CPUQuota=%.0f%%", l.CPUs*100)
	}
	if l.Processes > 0 {
		property("TasksMax=%d", l.Processes)
	}
	return append(append(out, "--"), command...)
}

// bind sets the limits that need no control group, before the program has started anything.
func (l Limits) bind(pid int, log *slog.Logger) error {
	if err := noCore(pid); err != nil {
		log.Debug("cannot disable core files for an agent", "err", err)
	}
	if scopes() != nil || !l.isBounded() {
		return nil
	}
	log.Warn("systemd's control groups are not available; of an agent's limits only that of processes applies",
		"memory", l.Memory, "cpus", l.CPUs)
	if l.Processes > 0 && os.Getuid() != 0 { // root has no such limit
		return limitProcesses(pid, l.Processes)
	}
	return nil
}

// Unbounded reports why the limits do not apply on this machine, "" when they do.
func (l Limits) Unbounded() string {
	if !l.isBounded() || scopes() != nil {
		return ""
	}
	return "the limits of agents need systemd's control groups (systemd-run --scope), which do not work here: memory " +
		"and CPU are not bounded"
}

// scopes returns the command that makes scopes, nil when none works.
var scopes = sync.OnceValue(func() []string { return findScopes(os.Getuid()) })

func findScopes(uid int) []string {
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil
	}
	command := []string{path, "--scope", "--quiet", "--collect"}
	if uid != 0 {
		command = append(command, "--user")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	try := append(append([]string{}, command...), "-p", "TasksMax="+strconv.Itoa(100), "--", "true")
	cmd := exec.CommandContext(ctx, try[0], try[1:]...)
	cmd.Env = environ.Inherit(nil)
	if cmd.Run() != nil {
		return nil
	}
	return command
}
