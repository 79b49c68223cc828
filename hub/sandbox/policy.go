// Package sandbox describes how the programs of a session are confined. It is pure: package box implements a Policy.
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
	None      Mode = "none"      // they can do everything that the hub's user can
	Namespace Mode = "namespace" // they run in a box: separate namespaces with the paths of a Policy
	Landlock  Mode = "landlock"  // Landlock alone: the kernel denies access to files and, in newer versions, to more
	Container Mode = "container" // they run in a box that podman or docker creates from an image
	Auto      Mode = "auto"      // the strongest mode that works here
)

// Modes are the values of the setting, in display order.
var Modes = []Mode{Auto, None, Namespace, Landlock, Container}

// ParseMode parses the value of a setting; "" is None.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return None, nil
	}
	if m := Mode(s); slices.Contains(Modes, m) {
		return m, nil
	}
	return "", fmt.Errorf("%.40q is no sandbox: use auto, none, namespace, landlock or container", s)
}

// Rules are the owner's settings for the sandboxes of all sessions.
type Rules struct {
	Mode    Mode   // of sessions without their own setting
	Boxed   Mode   // of sessions in a sandbox: what Auto means here; "": no sandboxes
	Why     string // why Boxed is "", or less than Namespace although Mode is Auto; otherwise ""
	Network Network
	Allow   []string // hosts that the proxy allows on the network List, in addition to Registries and the agent's hosts
	Relays  []Relay
	Read    []string // additional paths that programs read
	Image   string   // of containers whose repository names no allowed image; "": no containers
	Images  []string // images that repositories may name
	Dir     string   // contains the private files of boxes, in a directory named after each session
}

// Works reports whether sandboxes work on this computer.
func (r Rules) Works() bool { return r.Boxed != "" }

// Resolve returns the mode of a session with the setting asked; "" is the default of all sessions.
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

// IsAuto reports whether a session with the setting asked uses the strongest mode that works.
func (r Rules) IsAuto(asked string) bool {
	if asked == "" {
		return r.Mode == Auto
	}
	return Mode(asked) == Auto
}

// Connect sets a policy's network by a session's setting, where "" is the default. hosts are its agent's hosts.
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

// Network is what programs in a box can reach besides each other.
type Network string

// The networks. None of them opens loopback or abstract sockets of the host.
const (
	Closed Network = "none"
	List   Network = "list" // the hosts of Policy.Allow, through the proxy
	Open   Network = "open" // everything that the host reaches on its networks
)

// Networks are the values of the setting, from widest to narrowest.
var Networks = []Network{Open, List, Closed}

// ParseNetwork parses the value of a setting; "" is Open.
func ParseNetwork(s string) (Network, error) {
	switch n := Network(s); n {
	case "":
		return Open, nil
	case Closed, List, Open:
		return n, nil
	}
	return "", fmt.Errorf("%.40q is no network of a sandbox: use open, list or none", s)
}

// Policy describes the box of one session, shared by all its programs. Paths are absolute, without links.
type Policy struct {
	Session  string   // names the box
	Mode     Mode     // "" is Namespace
	Image    string   // of a Container whose directories name no allowed image
	Images   []string // images that the directories may name: names, or prefixes followed by *
	Write    []string // directories that programs read and write
	Read     []string // files and directories that they read
	Seal     []string // read-only paths inside directories of Write
	Git      []string // git directories that programs read and write, except files that make git run programs
	Home     []string // paths below the user's home directory that they read and write there, if they exist
	HomeRead []string // paths below the user's home directory that they read there
	Own      []string // sessions whose worktrees in the data directory are among Write
	Network  Network
	Allow    []string // hosts that the proxy allows on the network List
	Relays   []Relay
	Auto     bool // Mode is the strongest on the hub's computer: another computer may use its own strongest
}

// Relay forwards a port of the host's loopback into a box, with the same number.
type Relay struct {
	Port int
	To   string // a service of the hub by name, or an address of the host's loopback as host:port
}

// ProxyService is the To of the Relay that connects programs on the network List to the proxy.
const ProxyService = "proxy"

// firstProxyPort is the port of that Relay, or the first candidate for it.
const firstProxyPort = 38137

// LowestPort is the lowest port of a Relay: lower ports need a capability, which a box lacks.
const LowestPort = 1024

// ParseRelay parses a loopback address of the host from the owner's settings.
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

// imageName matches names of images that engines accept and cannot take for an option.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,254}$`)

// Check refuses invalid policies: relative paths, invalid names, ports that are used twice.
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

// WorkDir returns the directory that a session's programs and the hub share, which has the same path in the box. dir
// holds the private files of all boxes.
func WorkDir(dir, session string) string { return filepath.Join(dir, session, "work") }

// SentDir returns the directory with the attachments sent to a session, which only the hub writes, with the same path
// in the box. dir holds the private files of all boxes.
func SentDir(dir, session string) string { return filepath.Join(dir, session, "sent") }

// Digest identifies what a policy allows.
func (p *Policy) Digest() string {
	raw, _ := json.Marshal(p) // strings and numbers only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
