package box

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os/exec"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// Check returns why no box can be created for a policy, such as for a path that no box may show. It creates none.
func (b *Boxes) Check(p *sandbox.Policy) error {
	if err := p.Check(); err != nil {
		return err
	}
	l := &layout{cfg: b.cfg}
	defer l.close()
	p = followTopLinks(p)
	p.Git = nil // of a worktree that the hub itself created
	return l.addPolicy(p)
}

// Report describes which sandboxes work on this computer. It tries them once.
func (b *Boxes) Report() Report { return b.report() }

// probe runs a program in a box with a network, and if that fails in one without.
func (b *Boxes) probe() (r Report) {
	r.Groups = b.groups().why
	b.probeContainers(&r)
	if err := b.try(&sandbox.Policy{Mode: sandbox.Landlock, Network: sandbox.Closed}); err != nil {
		r.Landlock = err.Error()
	}
	r.ABI, _ = landlockABI(b.cfg)
	for _, tool := range [][2]string{{"bwrap", "bubblewrap"}, {"nsenter", "util-linux"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			r.Namespace = fmt.Sprintf("%s is not installed (Debian and Ubuntu: apt-get install %s)", tool[1], tool[1])
			r.Open = r.Namespace
			return r
		}
	}
	open := b.try(&sandbox.Policy{Network: sandbox.Open})
	if open == nil {
		return r
	}
	r.Open = open.Error()
	if err := b.try(&sandbox.Policy{Network: sandbox.Closed}); err != nil {
		r.Namespace = err.Error()
		r.Open = r.Namespace
	}
	return r
}

// probeContainers runs containers of the owner's image.
func (b *Boxes) probeContainers(r *Report) {
	p := &sandbox.Policy{Mode: sandbox.Container, Image: b.cfg.Image, Network: sandbox.Open}
	if p.Image == "" {
		r.Container = "no image is set (--sandbox-image)"
		if len(engines()) == 0 {
			r.Container += ", and " + errNoEngine.Error()
		}
		return
	}
	e, err := b.findEngine(p.Image)
	if err != nil {
		r.Container = err.Error()
		return
	}
	r.Engine = e.name()
	if err := b.try(p); err != nil {
		r.ContainerOpen = err.Error()
		p.Network = sandbox.Closed
		if err := b.try(p); err != nil {
			r.Container = err.Error()
		}
	}
}

// probeSession is the session name of probes.
const probeSession = "probe"

// try runs a program under a policy.
func (b *Boxes) try(p *sandbox.Policy) error {
	p.Session = probeSession
	defer func() { _ = b.Forget(p.Session) }()
	cmd := exec.Command("/bin/sh", "-c", "exit 7")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	var complaint bytes.Buffer
	cmd.Stderr = &capped{w: &complaint, left: 4 << 10}
	if err := b.Start(cmd, p); err != nil {
		return err
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		return fmt.Errorf("a program in a sandbox does not run here: %s", cmp.Or(lastLine(complaint.String()),
			fmt.Sprint(err)))
	}
	return nil
}
