package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/loopback"
	"github.com/ahphub/ahphub/hub/secret"
)

const demoNodes = 3

// runCluster runs the nodes of a cluster as processes on this computer until ctx is canceled. Their
// data is under tmp.
func (c demoCommand) runCluster(e *environment, tmp, repo string) error {
	if c.Machines > 0 {
		return errors.New("--cluster and --machines are separate demos: choose one")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var running []*demoMachine
	defer func() {
		for _, m := range running {
			m.close()
		}
	}()
	first := filepath.Join(tmp, "n1")
	for i := range demoNodes {
		name := fmt.Sprint("n", i+1)
		data := filepath.Join(tmp, name)
		listen, release, err := loopback.Reserve()
		if err != nil {
			return err
		}
		defer release()
		address, release, err := loopback.Reserve()
		if err != nil {
			return err
		}
		defer release()
		args := []string{"serve", "--cluster", "--listen", listen, "--data", data, "--dir", repo, "--agent", "script",
			"--log-format", c.LogFormat, "--log-level", c.LogLevel}
		if i == 0 {
			args[3] = c.Listen
			args = append(args, "--cluster-name", name, "--cluster-address", address)
		} else if err := joinDemo(e.ctx, first, data, name, address); err != nil {
			return err
		}
		cmd := exec.Command(program, args...)
		cmd.Stderr = e.stderr
		cmd.Env = environ.Inherit(nil)
		m, err := startDemo(cmd)
		if err != nil {
			return err
		}
		running = append(running, m)
		if err := awaitDemo(e.ctx, m, data, i+1); err != nil {
			return err
		}
		at, err := readAddresses(data)
		if err != nil {
			return err
		}
		printLine(e.stdout, name, fmt.Sprintf("%s (process %d)", at.URL, cmd.Process.Pid))
	}
	if err := (linkCommand{Data: first}).Run(e); err != nil {
		return err
	}
	printLine(e.stdout, "watch", fmt.Sprintf("%s cluster status --data %s", program, filepath.Join(tmp, "n2")))
	printLine(e.stdout, "try", fmt.Sprintf(
		"kill -9 %d kills n1, the leader. Another node soon leads with the same sessions", running[0].cmd.Process.Pid))
	<-e.ctx.Done()
	return nil
}

// startDemo starts a program that exits with this one.
func startDemo(cmd *exec.Cmd) (*demoMachine, error) {
	endWithParent(cmd)
	m := &demoMachine{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(m.ended)
		runtime.LockOSThread() // the kernel kills the program when this thread ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ends when asked to
		}
	}()
	return m, <-started
}

// joinDemo makes a data directory a node of the demo's cluster.
func joinDemo(ctx context.Context, first, data, name, address string) error {
	var t manage.Token
	if err := manage.Call(ctx, first, "token", manage.Life{Life: time.Hour}, &t); err != nil {
		return err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	return peers.Join(ctx, t.Token, data, name, address, secret.KeyFile, false)
}

// awaitDemo waits until a node knows a leader, and the given number of voters are up.
func awaitDemo(ctx context.Context, m *demoMachine, data string, voters int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var s manage.Status
		err := manage.Call(ctx, data, "status", nil, &s)
		votes := 0
		for _, n := range s.Nodes {
			if n.Votes && n.Error == "" {
				votes++
			}
		}
		if err == nil && s.Leader != "" && votes == voters {
			if voters > 1 {
				return nil
			}
			var t manage.Token // proves that the leader's hub has started
			if err = manage.Call(ctx, data, "token", manage.Life{Life: time.Minute}, &t); err == nil {
				return nil
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-m.ended:
			return errors.New("a node of the demo exited. See the lines above for the reason")
		case <-ctx.Done():
			return fmt.Errorf("the nodes of the demo did not find each other: %w", errors.Join(err, ctx.Err()))
		}
	}
}
