// Package sandbox describes what the programs of a session are kept from. It is pure: package box builds what a Policy
// describes.
package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mode says how the programs of a session are confined.
type Mode string

// The modes.
const (
	None      Mode = "none"      // they can do what the user can that the hub runs as
	Namespace Mode = "namespace" // they run in a box: namespaces of their own, with the paths of a Policy
	Landlock  Mode = "landlock"  // the kernel keeps them from files and, on newer ones, from more: what Landlock alone can
	Container Mode = "container" // they run in a box that podman or docker makes of an image
	Auto      Mode = "auto"      // the strongest that works here
)

// Modes are the values of the setting, in the order in which people choose.
var Modes = []Mode{Auto, None, Namespace, Landlock, Container}

// ParseMode reads the value of a setting; "" is None.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return None, nil
	}
	if m := Mode(s); slices.Contains(Modes, m) {
		return m, nil
	}
	return "", fmt.Errorf("%.40q is no sandbox: use auto, none, namespace, landlock or container", s)
}

// Rules are what the owner has set for the sandboxes of all sessions.
type Rules struct {
	Mode    Mode   // of sessions that say nothing else
	Boxed   Mode   // of sessions in a sandbox, as Auto is here; "": there are none
	Why     string // why it is none, or less than Namespace where Auto asks for that; "" otherwise
	Network Network
	Allow   []string // what the proxy lets through on the network List, beside Registries and the agent's hosts
	Relays  []Relay
	Read    []string // more that programs read
	Image   string   // of containers whose repository names none that is allowed; "": sessions have no containers
	Images  []string // what repositories may name besides
	Dir     string   // where the private files of boxes are: each in a directory of its session's name
}

// Works reports whether sandboxes work on this computer.
func (r Rules) Works() bool { return r.Boxed != "" }

// Resolve returns the mode of a session whose own setting is asked; "" is that of all.
func (r Rules) Resolve(asked string) (Mode, error) {
	m := r.Mode
	if asked != "" {
		var err error
		if m, err = ParseMode(asked); err != nil {
			return "", err
		}
	}
	switch {
	case m == Auto && r.Works():
		return r.Boxed, nil
	case m == Auto:
		return None, nil
	case m == Container && r.Image == "":
		return "", errors.New("this server has no containers. The owner sets an image for them: --sandbox-image")
	}
	return m, nil
}

// IsAuto reports whether the mode of a session whose own setting is asked is the strongest that works.
func (r Rules) IsAuto(asked string) bool {
	if asked == "" {
		return r.Mode == Auto
	}
	return Mode(asked) == Auto
}

// Connect gives a policy the network that a session asks for; "" is that of all. hosts are those of its agent.
func (r Rules) Connect(p *Policy, asked string, hosts []string) (err error) {
	p.Network, p.Relays = r.Network, r.Relays
	if asked != "" {
		if p.Network, err = ParseNetwork(asked); err != nil {
			return err
		}
	}
	if p.Network != List {
		return nil
	}
	port := firstProxyPort
	for slices.ContainsFunc(r.Relays, func(relay Relay) bool { return relay.Port == port }) {
		port++
	}
	p.Relays = append(slices.Clone(r.Relays), Relay{port, ProxyService})
	p.Allow = slices.Concat(Registries, hosts, r.Allow)
	return nil
}

// Network says what programs in a box reach besides each other.
type Network string

// The networks. Loopback and abstract sockets of the host are closed in each.
const (
	Closed Network = "none"
	List   Network = "list" // the hosts of Policy.Allow, by the proxy
	Open   Network = "open" // what the host itself reaches on its networks
)

// Networks are the values of the setting, from the widest on.
var Networks = []Network{Open, List, Closed}

// ParseNetwork reads the value of a setting; "" is Open.
func ParseNetwork(s string) (Network, error) {
	switch n := Network(s); n {
	case "":
		return Open, nil
	case Closed, List, Open:
		return n, nil
	}
	return "", fmt.Errorf("%.40q is no network of a sandbox: use open, list or none", s)
}

// Policy describes the box of one session. All programs of the session share it. Paths are absolute, without links.
type Policy struct {
	Session  string   // names the box
	Mode     Mode     // how; "" is Namespace
	Image    string   // of a Container whose directories name none that is allowed
	Images   []string // what they may name: images, or their beginnings with a * behind
	Write    []string // directories that programs read and write
	Read     []string // files and directories that they read
	Seal     []string // what they only read though it lies in a directory of Write
	Git      []string // directories of git that they read and write, but for what makes git run programs
	Home     []string // paths below the user's home directory that they read and write there, where there is something
	HomeRead []string // and that they read there
	Own      []string // sessions whose worktrees in the data directory are among Write
	Network  Network
	Allow    []string // what the proxy lets through on the network List
	Relays   []Relay
	Auto     bool // Mode is what works on the hub's computer: another one may use what works there
}

// Relay brings a port of the host's loopback into a box, at the same number.
type Relay struct {
	Port int
	To   string // the name of a service of the hub, or an address of the host's loopback as host:port
}

// ProxyService is what a Relay leads To that brings programs on the network List to the proxy.
const ProxyService = "proxy"

// firstProxyPort is the port of that Relay, or the next one that is free.
const firstProxyPort = 38137

// LowestPort is the lowest port of a Relay: those below need a capability, and the box has none.
const LowestPort = 1024

// ParseRelay reads a loopback address of the host, as the owner names it.
func ParseRelay(address string) (Relay, error) {
	at, err := netip.ParseAddrPort(strings.Replace(address, "localhost:", "127.0.0.1:", 1))
	switch {
	case err != nil || !at.Addr().IsLoopback():
		return Relay{}, fmt.Errorf("%.80q is no loopback address: write it as 127.0.0.1:11434", address)
	case at.Port() < LowestPort:
		return Relay{}, fmt.Errorf("port %d cannot be relayed into a sandbox: use one of %d and more", at.Port(),
			LowestPort)
	}
	return Relay{int(at.Port()), at.String()}, nil
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// imageName admits what engines take for the name of an image, and nothing that they could take for an option.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,254}$`)

// Check refuses a policy that cannot be meant: relative paths, a name that is none, ports that are taken twice.
func (p *Policy) Check() error {
	if !name.MatchString(p.Session) {
		return fmt.Errorf("%.80q cannot name a sandbox", p.Session)
	}
	for _, path := range slices.Concat(p.Write, p.Read, p.Seal, p.Git) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
			return fmt.Errorf("a sandbox needs absolute paths, and %.200q is none", path)
		}
	}
	for _, path := range slices.Concat(p.Home, p.HomeRead) {
		if !filepath.IsLocal(path) || filepath.Clean(path) == "." || strings.ContainsRune(path, 0) {
			return fmt.Errorf("%.200q does not lie below the home directory", path)
		}
	}
	if !slices.Contains([]Mode{"", Namespace, Landlock, Container}, p.Mode) {
		return fmt.Errorf("%.40q is no mode of a sandbox", p.Mode)
	}
	if p.Mode == Container && p.Image == "" && len(p.Images) == 0 {
		return errors.New("no image is set for containers. The owner sets one by --sandbox-image")
	}
	for _, image := range slices.Concat([]string{p.Image}, p.Images) {
		if image != "" && !imageName.MatchString(strings.TrimSuffix(image, "*")) {
			return fmt.Errorf("%.120q is no name of an image", image)
		}
	}
	if p.Mode == Landlock && p.Network == List {
		return errors.New("a sandbox by Landlock alone cannot limit the network to a list. Install bubblewrap, or choose another network")
	}
	if !slices.Contains(Networks, p.Network) {
		return fmt.Errorf("%.40q is no network of a sandbox", p.Network)
	}
	if _, err := ParseHosts(p.Allow); err != nil {
		return err
	}
	ports := map[int]bool{}
	for _, r := range p.Relays {
		if r.Port < LowestPort || r.Port > 65535 || ports[r.Port] {
			return fmt.Errorf("port %d cannot be relayed into a sandbox: use a free one of %d and more", r.Port,
				LowestPort)
		}
		ports[r.Port] = true
	}
	return nil
}

// WorkDir returns the directory of a session's box that its programs see by its own path: what they exchange with the
// hub. dir holds the private files of all boxes.
func WorkDir(dir, session string) string { return filepath.Join(dir, session, "work") }

// SentDir returns the directory of a session's box that its programs read by its own path, and the hub alone writes: what
// the session was sent. dir holds the private files of all boxes.
func SentDir(dir, session string) string { return filepath.Join(dir, session, "sent") }

// Digest identifies what a policy allows.
func (p *Policy) Digest() string {
	raw, _ := json.Marshal(p) // strings and numbers only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
