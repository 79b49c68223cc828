package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box"
	"github.com/ahphub/ahphub/hub/sandbox/disk"
	"github.com/ahphub/ahphub/hub/sandbox/proxy"
)

// boxSetup is what a computer's boxes need besides their configuration.
type boxSetup struct {
	data     string                 // the data directory
	programs map[string]acp.Program // the agents, whose programs are visible in boxes
	guard    *guard.Guard           // refuses the data directory
	log      *slog.Logger
	isHub    func(netip.AddrPort) bool       // reports the hub's own addresses, which the proxy refuses
	tell     func(session, text string)      // receives messages for a session's people; nil: terminals show them
	relays   []sandbox.Relay                 // in addition to the configured ones
	tools    func(*sandbox.Policy, net.Conn) // handles connections of relays to mcpService
}

// boxed holds the boxes of a computer and their rules.
type boxed struct {
	rules *sandbox.Rules
	boxes *box.Boxes
	proxy *proxy.Proxy
}

// close ends all boxes.
func (b *boxed) close() {
	if b != nil {
		b.boxes.Close()
		b.proxy.Close()
	}
}

// open creates the configured boxes; nil for none.
func (c sandboxConfig) open(s boxSetup) (*boxed, error) {
	mode, err := sandbox.ParseMode(c.Sandbox)
	if err != nil || mode == sandbox.None {
		return nil, err
	}
	program, err := os.Executable()
	home, err2 := realHome()
	data, err3 := filepath.EvalSymlinks(s.data)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	if data, err = filepath.Abs(data); err != nil {
		return nil, err
	}
	rules, err := c.rules(s)
	if err != nil {
		return nil, err
	}
	limits, err := c.limits(data)
	if err != nil {
		return nil, err
	}
	made := &boxed{rules: rules}
	made.proxy = proxy.New(proxy.Config{Log: s.log, Dir: filepath.Join(data, "boxes"), IsHub: s.isHub, Upstream: ownProxy})
	made.boxes = box.New(box.Config{Dir: filepath.Join(data, "boxes"), Program: program, Home: home,
		Path: os.Getenv("PATH"), Limits: limits, Image: c.SandboxImage, Spare: disk.Spare(data), Tell: s.tell,
		Guard: s.guard, Log: s.log, Services: map[string]func(*sandbox.Policy, net.Conn){
			mcpService:           s.tools,
			sandbox.ProxyService: made.proxy.Serve,
		}})
	made.boxes.SweepGroups()
	rules.Mode, rules.Dir = mode, filepath.Join(data, "boxes")
	report := made.boxes.Report()
	rules.Boxed, rules.Why = chooseMode(report, mode, rules.Network)
	if report.Container == "" {
		rules.Image, rules.Images = c.SandboxImage, c.SandboxImages
	} else if mode != sandbox.Container && c.SandboxImage != "" {
		s.log.Warn("sessions cannot choose a container, which does not work here", "reason", report.Container)
	}
	if rules.Boxed == "" && mode != sandbox.Auto {
		made.close()
		return nil, fmt.Errorf("--sandbox %s does not work here: %s", mode, rules.Why)
	}
	return made, nil
}

// rules returns the configured rules for programs in sandboxes.
func (c sandboxConfig) rules(s boxSetup) (*sandbox.Rules, error) {
	r := &sandbox.Rules{Read: slices.Clone(c.SandboxRead), Allow: c.SandboxAllow}
	var err error
	if r.Network, err = sandbox.ParseNetwork(c.SandboxNetwork); err != nil {
		return nil, err
	}
	for _, address := range c.SandboxLoopback {
		relay, err := sandbox.ParseRelay(address)
		if err != nil {
			return nil, err
		}
		r.Relays = append(r.Relays, relay)
	}
	r.Relays = append(r.Relays, s.relays...)
	for _, p := range s.programs {
		r.Read = append(r.Read, placeOf(p)...)
	}
	slices.Sort(r.Read)
	r.Read = slices.Compact(r.Read)
	p := &sandbox.Policy{Session: "rules", Read: r.Read}
	return r, cmp.Or(r.Connect(p, string(sandbox.List), nil), p.Check())
}
