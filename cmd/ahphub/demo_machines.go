package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/sandbox"
)

const (
	mostDemoMachines = 5
	demoJoining      = 30 * time.Second // timeout until a machine is connected
	demoLeaving      = 2 * time.Second  // timeout for a machine to end
)

// demoMachine is a machine of the demo: a separate process on this computer.
type demoMachine struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// close ends the program and waits for it.
func (m *demoMachine) close() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-m.ended:
	case <-time.After(demoLeaving):
		_ = m.cmd.Process.Kill()
		<-m.ended
	}
}

// makeDemoMachines starts machines that join this hub, and two sessions on each: one that has
// finished, and one that waits for an approval.
func (a *app) makeDemoMachines(ctx context.Context, who core.Caller) error {
	for i := range a.cfg.demoMachines {
		name := fmt.Sprintf("box%d", i+2)
		home := filepath.Join(filepath.Dir(a.cfg.Dir), name)
		repo := filepath.Join(home, "greeter")
		if err := sampleRepository(ctx, repo); err != nil {
			return fmt.Errorf("the demo's machine %s: %w", name, err)
		}
		if err := a.startDemoMachine(ctx, name, home); err != nil {
			return fmt.Errorf("the demo's machine %s: %w", name, err)
		}
		provider, err := a.awaitDemoMachine(ctx, name)
		if err != nil {
			return fmt.Errorf("the demo's machine %s: %w", name, err)
		}
		for _, s := range []struct{ approval, prompt string }{
			{agent.ApprovalAuto, "git log --oneline && cat greet.go && echo 'Say goodbye, too' > TODO"},
			{agent.ApprovalAsk, "sed -i s/Hello/Welcome/ greet.go"},
		} {
			if err := a.makeDemoSession(ctx, who, provider, repo, s.approval, s.prompt); err != nil {
				return fmt.Errorf("the demo's session %q on %s: %w", s.prompt, name, err)
			}
		}
	}
	return nil
}

// startDemoMachine runs `ahphub join` with a separate home directory.
func (a *app) startDemoMachine(ctx context.Context, name, home string) error {
	if a.machines == nil {
		return errors.New("no machine can join this hub")
	}
	token, _, err := a.machines.NewToken(ctx, a.owner.ID)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "join", a.at.URL, "--name", name, "--dir", home, "--sandbox", string(sandbox.Auto),
		"--data", filepath.Join(home, ".ahphub"))
	cmd.Dir = home
	cmd.Env = slices.DeleteFunc(environ.Inherit(nil), func(v string) bool {
		return strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "XDG_")
	})
	cmd.Env = append(cmd.Env, "HOME="+home, "AHPHUB_JOIN_TOKEN="+token)
	m, err := startDemo(cmd)
	if err != nil {
		return err
	}
	a.demoMachines = append(a.demoMachines, m)
	return nil
}

// awaitDemoMachine waits until a machine is connected, and returns its shell agent.
func (a *app) awaitDemoMachine(ctx context.Context, name string) (provider string, err error) {
	ctx, cancel := context.WithTimeout(ctx, demoJoining)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		root, _ := hub.StateOf[*ahp.RootState](a.hub, ahp.RootURI)
		for _, s := range a.machines.List() {
			provider := place.JoinProvider(s.ID, shell.Provider)
			if s.Name == name && s.Online && root != nil &&
				slices.ContainsFunc(root.Agents, func(i ahp.AgentInfo) bool { return i.Provider == provider }) {
				tick.Stop()
				return provider, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return "", errors.New("it does not connect")
		}
	}
}

func (a *app) makeDemoSession(ctx context.Context, who core.Caller, provider, repo, approval, prompt string) error {
	id, _ := place.SplitProvider(provider)
	dir, err := place.JoinPath(id, repo)
	if err != nil {
		return err
	}
	value, err := json.Marshal(approval)
	if err != nil {
		return err
	}
	session := ahp.URI("ahp-session:/" + ids.New())
	if err := a.host.CreateSession(ctx, who, ahp.CreateSessionParams{Channel: session, Provider: provider,
		WorkingDirectories: []ahp.URI{place.FileURI(dir)}, Config: ahp.Meta{agent.ApprovalKey: value}}); err != nil {
		return err
	}
	return a.prompt(ctx, who, session, prompt)
}

// closeDemoMachines ends the demo's machines.
func (a *app) closeDemoMachines() {
	for _, m := range a.demoMachines {
		m.close()
	}
}
