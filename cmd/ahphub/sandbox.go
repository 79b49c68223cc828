package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box"
	"github.com/ahphub/ahphub/hub/sandbox/disk"
	"github.com/ahphub/ahphub/hub/sandbox/relayed"
)

// sandboxConfig configures the sandboxes of sessions' programs.
type sandboxConfig struct {
	Sandbox         string   `default:"auto" placeholder:"auto|none|namespace|landlock|container" help:"Isolation for the programs of sessions: namespace (bubblewrap), container (podman or docker, by --sandbox-image), landlock (less, by the kernel alone), none, or auto (the default): namespace, else landlock, else none, with a warning for less than namespace."`
	SandboxNetwork  string   `default:"open" placeholder:"open|list|none" help:"Network of sandboxes: open (what this server reaches, without its loopback), list (the agent's model, package registries and --sandbox-allow) or none. Default: ${default}."`
	SandboxAllow    []string `placeholder:"HOST[:PORT]" help:"More hosts that sandboxes with the network list reach: names, *.example.com, addresses, and private networks that names may lead to, as 10.1.0.0/16."`
	SandboxLoopback []string `placeholder:"HOST:PORT" help:"Loopback addresses that sandboxes reach at the same port, as 127.0.0.1:11434 for a local model."`
	SandboxMemory   string   `placeholder:"SIZE" help:"Memory that the programs of one sandbox use together, as in 8G. Default: three quarters of the computer's."`
	SandboxPids     int      `default:"4096" placeholder:"N" help:"Processes and threads of one sandbox. Default: ${default}."`
	SandboxImage    string   `placeholder:"IMAGE" help:"Image of containers whose repository names none that is allowed. With it, sessions can choose a container. The image must be on this computer."`
	SandboxImages   []string `placeholder:"IMAGE" help:"More images that a repository's devcontainer.json may choose, as docker.io/library/node:22 or mcr.microsoft.com/devcontainers/*."`
	SandboxDisk     string   `placeholder:"SIZE|none" help:"Disk space that the programs of one session fill in a sandbox, as in 20G, or none for no bound. Default: half of what is free when ahphub starts."`
	SandboxRead     []string `placeholder:"DIR" help:"More directories that the programs in sandboxes read."`
}

// validate refuses invalid values.
func (c sandboxConfig) validate() error {
	var wrong []error
	c.check(func(name string, value any, allowed string) { wrong = append(wrong, wrongOption(name, value, allowed)) })
	return errors.Join(wrong...)
}

// arguments returns the flags for this configuration, without defaults.
func (c sandboxConfig) arguments() (args []string) {
	for _, o := range optionsOf(reflect.ValueOf(&c).Elem(), "", nil) {
		values := []string{fmt.Sprint(o.field)}
		if list, ok := o.field.Interface().([]string); ok {
			values = list
		}
		for _, value := range values {
			if value != o.initial && value != "" {
				args = append(args, "--"+o.name+"="+value)
			}
		}
	}
	return args
}

// mcpService is the name of the relay to the host's tools for agents.
const mcpService = "mcp"

func (c sandboxConfig) check(bad func(name string, value any, allowed string)) {
	if _, err := sandbox.ParseMode(c.Sandbox); err != nil {
		bad("sandbox", c.Sandbox, "use auto, none, namespace, landlock or container")
	}
	if err := (&sandbox.Policy{Session: "images", Mode: sandbox.Container, Image: cmp.Or(c.SandboxImage, "none"),
		Images: c.SandboxImages, Network: sandbox.Closed}).Check(); err != nil {
		bad("sandbox-image", strings.Join(append([]string{c.SandboxImage}, c.SandboxImages...), " "), err.Error())
	}
	if _, err := sandbox.ParseNetwork(c.SandboxNetwork); err != nil {
		bad("sandbox-network", c.SandboxNetwork, "use open, list or none")
	}
	for _, host := range c.SandboxAllow {
		if _, err := sandbox.ParseHosts([]string{host}); err != nil {
			bad("sandbox-allow", host, err.Error())
		}
	}
	for _, address := range c.SandboxLoopback {
		if _, err := sandbox.ParseRelay(address); err != nil {
			bad("sandbox-loopback", address, err.Error())
		}
	}
	if _, err := size(c.SandboxMemory); err != nil {
		bad("sandbox-memory", c.SandboxMemory, "use a size such as 8G")
	}
	if _, err := size(c.SandboxDisk); err != nil && c.SandboxDisk != "none" {
		bad("sandbox-disk", c.SandboxDisk, "use a size such as 20G, or none")
	}
	if n := c.SandboxPids; n != 0 && (n < 16 || n > 1<<22) { // 0 is the default
		bad("sandbox-pids", c.SandboxPids, "use a number of 16 and more")
	}
	for _, dir := range c.SandboxRead {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			bad("sandbox-read", dir, "name a directory from the root on, as in /srv/tools")
		}
	}
}

// buildSandboxes creates the boxes of sessions and their rules, unless sandboxes are off.
func (a *app) buildSandboxes(tools string, listen net.Addr) error {
	a.relayed = relayed.New()
	made, err := a.cfg.Sandbox.open(boxSetup{data: a.cfg.Data, programs: programs(a.cfg.configured, a.cfg.pass),
		guard: a.guard, log: a.log, isHub: isOwnPort(listen), tell: a.tellSession, relays: a.toolsRelay(tools),
		tools: func(_ *sandbox.Policy, conn net.Conn) { a.relayed.Hand(conn) }})
	if err != nil || made == nil {
		a.relayed = nil
		return err
	}
	a.rules, a.programs, a.proxy = made.rules, local.Programs{Boxes: made.boxes}, made.proxy
	switch why := a.rules.Why; {
	case !a.rules.Works():
		a.log.Warn("the programs of sessions are not in sandboxes, which do not work here: they can do what you can",
			"reason", why)
	case why != "":
		a.log.Warn("sessions are kept by Landlock alone, which leaves open what docs/security.md lists", "reason", why)
	}
	return nil
}

// toolsRelay returns the relay from agents in boxes to the host's tools.
func (a *app) toolsRelay(tools string) []sandbox.Relay {
	at, err := url.Parse(tools)
	if err != nil {
		return nil
	}
	if port, err := strconv.Atoi(at.Port()); err == nil && port >= sandbox.LowestPort {
		return []sandbox.Relay{{Port: port, To: mcpService}}
	}
	a.log.Warn("agents in sandboxes do not reach the tools of ahphub: use a port of 1024 and more to listen on",
		"address", tools)
	return nil
}

// containerOf returns a function that describes the container of a session; nil without sandboxes.
func (a *app) containerOf() func(session string) (sandbox.ContainerInfo, bool) {
	if a.programs.Boxes == nil {
		return nil
	}
	return a.programs.Boxes.Container
}

// tellSession passes a message about a session's programs to the session.
func (a *app) tellSession(session, text string) { a.host.Sandboxes.Tell(session, text) }

// limits returns the resource limits of one sandbox. data is the data directory.
func (c sandboxConfig) limits(data string) (l box.Limits, err error) {
	if c.SandboxDisk != "none" {
		if l.Disk, err = size(c.SandboxDisk); err != nil {
			return l, err
		}
		if l.Disk == 0 {
			l.Disk = disk.Free(data) / 2
		}
	}
	l.Processes = cmp.Or(c.SandboxPids, 4096)
	if l.Memory, err = size(c.SandboxMemory); l.Memory == 0 {
		l.Memory = systemMemory("/proc/meminfo") / 4 * 3
	}
	return l, err
}

// chooseMode returns the mode of sandboxes, and why it is less than requested. "" is none; only
// auto accepts less than namespaces.
func chooseMode(r box.Report, asked sandbox.Mode, network sandbox.Network) (mode sandbox.Mode, why string) {
	why = whyNone(r, network)
	switch {
	case asked == sandbox.Container && (r.Container != "" || network == sandbox.Open && r.ContainerOpen != ""):
		return "", cmp.Or(r.Container, r.ContainerOpen)
	case asked == sandbox.Container:
		return asked, ""
	case asked == sandbox.Landlock && r.Landlock != "":
		return "", r.Landlock
	case asked == sandbox.Landlock && network == sandbox.List:
		return "", "it cannot limit the network to a list. Use --sandbox namespace, or another --sandbox-network"
	case asked == sandbox.Landlock:
		return asked, ""
	case why == "":
		return sandbox.Namespace, ""
	case asked == sandbox.Auto && r.Landlock == "" && network != sandbox.List:
		return sandbox.Landlock, why
	}
	return "", why
}

// whyNone returns why boxes with this network do not work here; "" if they do. Without the chosen
// network there is no box: an agent that cannot reach its model is useless.
func whyNone(r box.Report, network sandbox.Network) string {
	if network == sandbox.Open {
		return cmp.Or(r.Namespace, r.Open)
	}
	return r.Namespace
}

// realHome returns the user's home directory with links resolved.
func realHome() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(home)
}

// isOwnPort returns a function that reports whether this server listens at an address, on any of
// the computer's networks.
func isOwnPort(listen net.Addr) func(netip.AddrPort) bool {
	return func(at netip.AddrPort) bool {
		own, ok := listen.(*net.TCPAddr)
		if !ok || int(at.Port()) != own.Port {
			return false
		}
		addresses, _ := net.InterfaceAddrs()
		return at.Addr().IsLoopback() || at.Addr().IsUnspecified() ||
			slices.ContainsFunc(addresses, func(a net.Addr) bool {
				n, is := a.(*net.IPNet)
				return is && n.IP.Equal(at.Addr().AsSlice())
			})
	}
}

// checkSandbox checks whether sandboxes work here, even if they are off.
func checkSandbox(c sandboxConfig) []finding {
	dir, err := os.MkdirTemp("", "ahphub-doctor-")
	if err != nil {
		return []finding{{text: "sandboxes cannot be tried: " + err.Error()}}
	}
	defer os.RemoveAll(dir)
	program, err := os.Executable()
	home, err2 := realHome()
	if err = errors.Join(err, err2); err != nil {
		return []finding{{text: "sandboxes cannot be tried: " + err.Error()}}
	}
	boxes := box.New(box.Config{Dir: dir, Program: program, Home: home, Path: os.Getenv("PATH"), Image: c.SandboxImage,
		Log: slog.New(slog.DiscardHandler)})
	defer boxes.Close()
	return describeSandbox(boxes.Report(), c)
}

// describeSandbox reports what works, and how to fix the rest.
func describeSandbox(r box.Report, c sandboxConfig) []finding {
	asked := sandbox.Mode(c.Sandbox)
	off := asked == "" || asked == sandbox.None
	if off {
		asked = sandbox.Auto
	}
	mode, why := chooseMode(r, asked, sandbox.Network(c.SandboxNetwork))
	switch {
	case mode == "":
		return []finding{{hard: asked != sandbox.Auto, text: "sandboxes do not work here: " + why +
			". The programs of sessions can do what you can"}}
	case off:
		return []finding{{text: "sandboxes work here and are switched off: the programs of sessions can do what you " +
			"can. Switch them on with --sandbox auto"}}
	}
	if mode == sandbox.Landlock {
		text := fmt.Sprintf("sessions are kept by Landlock alone (version %d): their programs see your other programs and "+
			"reach sockets of them", r.ABI)
		if asked == sandbox.Auto {
			text += ". For more: " + why
		}
		return []finding{{good: asked == mode, text: text}}
	}
	if mode == sandbox.Container {
		found := []finding{{good: true, text: "containers work here (" + r.Engine + ", image " + c.SandboxImage +
			"), and sessions use them"}}
		return append(found, lacks(r.Groups, r.ContainerOpen)...)
	}
	found := []finding{{good: true, text: "sandboxes work here, and sessions use them"}}
	return append(append(found, lacks(r.Groups, r.Open)...), describeContainers(r, c)...)
}

// describeContainers reports whether sessions can choose a container.
func describeContainers(r box.Report, c sandboxConfig) []finding {
	switch {
	case r.Container == "":
		return []finding{{good: true, text: "sessions can choose a container (" + r.Engine + ", image " + c.SandboxImage + ")"}}
	case c.SandboxImage != "":
		return []finding{{text: "sessions cannot choose a container: " + r.Container}}
	}
	return []finding{{good: true, text: "sessions cannot choose a container: " + r.Container}} // none is configured
}

// lacks reports what sandboxes lack.
func lacks(groups, open string) (found []finding) {
	if groups != "" {
		found = append(found, finding{text: "the memory and processes of sandboxes are not bounded here: " + groups})
	}
	if open != "" {
		found = append(found, finding{text: "sandboxes have no network here: " + open})
	}
	return found
}

// placeOf returns the paths that a box must show for an agent's program, besides system
// directories: npm packages, or the program itself.
func placeOf(p acp.Program) (paths []string) {
	path, err := p.Path()
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	const modules = "/node_modules/"
	switch i := strings.Index(real, modules); {
	case isSystem(real):
		return nil
	case i >= 0:
		return []string{real[:i+len(modules)-1]}
	default:
		return []string{real}
	}
}

func isSystem(path string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/opt/", "/nix/"},
		func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// ownProxy returns the proxy for an address according to this program's environment (such as
// HTTPS_PROXY).
func ownProxy(to *url.URL) (*url.URL, error) {
	return http.ProxyFromEnvironment(&http.Request{URL: to})
}
