package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Registries are the hosts of package registries, which programs reach on the network List.
var Registries = []string{
	"registry.npmjs.org", "registry.yarnpkg.com",
	"pypi.org", "files.pythonhosted.org",
	"crates.io", "index.crates.io", "static.crates.io",
	"proxy.golang.org", "sum.golang.org",
	"rubygems.org", "index.rubygems.org",
	"deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com",
}

// Destination is what a program asks to be connected to.
type Destination struct {
	Host string // a name in lower case without a dot at its end, or an address without brackets
	Port int
}

// String returns the destination as a Hosts takes it.
func (d Destination) String() string {
	if strings.Contains(d.Host, ":") {
		return fmt.Sprintf("[%s]:%d", d.Host, d.Port)
	}
	return fmt.Sprintf("%s:%d", d.Host, d.Port)
}

// usualPorts are those of a host that is named without one: http and https.
var usualPorts = []int{80, 443}

// Rule returns what to allow so that the destination can be reached.
func (d Destination) Rule() string {
	if slices.Contains(usualPorts, d.Port) {
		return d.Host
	}
	return d.String()
}

// Address returns the address that a destination names; false when it is a name.
func (d Destination) Address() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(d.Host)
	return ip, err == nil
}

// errHost says what a host looks like.
var errHost = errors.New("use a host name as in registry.example.com (xn--… for other letters), or an address")

// ParseDestination reads host:port, with brackets around an IPv6 address. port is that of a destination without one; 0:
// it must have one.
func ParseDestination(text string, port int) (d Destination, err error) {
	if len(text) > 300 {
		return d, errHost
	}
	host, number, bracketed := text, "", false
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if host, number, bracketed = strings.Cut(rest, "]"); !bracketed || number != "" && number[0] != ':' {
			return d, errHost
		}
	} else if i := strings.LastIndexByte(text, ':'); i >= 0 {
		host, number = text[:i], text[i:]
	}
	if number != "" {
		if port, err = parsePort(number[1:]); err != nil {
			return d, err
		}
	}
	if port == 0 {
		return d, errors.New("name a port, as in registry.example.com:443")
	}
	host, err = parseHost(host, bracketed)
	return Destination{host, port}, err
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, fmt.Errorf("%+.20q is no port", s)
	}
	return int(n), nil
}

// parseHost returns a host in the one form that it is compared in.
func parseHost(s string, six bool) (string, error) {
	if six || strings.Contains(s, ":") {
		ip, err := netip.ParseAddr(s)
		if err != nil || !six || ip.Zone() != "" || !ip.Is6() {
			return "", errHost
		}
		return ip.Unmap().String(), nil
	}
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.String(), nil
	}
	if !isName(s) {
		return "", errHost
	}
	return s, nil
}

// isName reports whether s is a host name in lower case. What ends in a number is none: libraries take such names for
// addresses, as 127.1 and 0x7f000001.
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	digits, isHex := strings.CutPrefix(last, "0x")
	if isHex && strings.Trim(digits, "0123456789abcdef") == "" {
		return false
	}
	return strings.Trim(last, "0123456789") != ""
}

// Hosts is a list of what programs reach on the network List.
type Hosts struct {
	names    []hostRule
	networks []netip.Prefix
}

type hostRule struct {
	host string // begins with a dot: every name that ends in it
	port int    // 0: the usual ones
}

// ParseHosts reads a list of hosts: names, names below a suffix as *.example.com, and addresses, each with a port
// or for those of http and https. A network, as 10.1.0.0/16, is one whose addresses the names of the list may have.
func ParseHosts(list []string) (h Hosts, err error) {
	for _, text := range list {
		if strings.Contains(text, "/") {
			network, err := parseNetwork(text)
			if err != nil {
				return Hosts{}, err
			}
			h.networks = append(h.networks, network)
			continue
		}
		rule, err := parseRule(text)
		if err != nil {
			return Hosts{}, fmt.Errorf("%.80q cannot be allowed: %w", text, err)
		}
		h.names = append(h.names, rule)
	}
	return h, nil
}

func parseRule(text string) (hostRule, error) {
	rest, many := strings.CutPrefix(text, "*.")
	if ip, err := netip.ParseAddr(rest); err == nil && ip.Is6() {
		rest = "[" + rest + "]" // as it is written without a port
	}
	d, err := ParseDestination(rest, 0)
	port := d.Port
	if err != nil { // it has no port, or is nothing at all
		port = 0
		if d, err = ParseDestination(rest, usualPorts[0]); err != nil {
			return hostRule{}, err
		}
	}
	switch ip, isAddress := d.Address(); {
	case isAddress && many:
		return hostRule{}, errHost
	case isAddress:
		return hostRule{d.Host, port}, checkNetwork(netip.PrefixFrom(ip, ip.BitLen()))
	case many:
		return hostRule{"." + d.Host, port}, nil
	}
	return hostRule{d.Host, port}, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return network, fmt.Errorf(
			"%.80q cannot be allowed: use a host name without https:// and path, or a network as "+
				"10.1.0.0/16", text)
	}
	network = network.Masked()
	if err := checkNetwork(network); err != nil {
		return network, fmt.Errorf("%.80q cannot be allowed: %w", text, err)
	}
	return network, nil
}

// closedNetworks can be on no list: this computer, its links with what clouds keep there, groups, and addresses
// that are translated to others.
var closedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("::ffff:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"), netip.MustParsePrefix("fd00:ec2::254/128")}

func checkNetwork(network netip.Prefix) error {
	for _, c := range closedNetworks {
		if c.Overlaps(network) {
			return errors.New("it has addresses of this computer or its link. For a service on this computer, use " +
				"--sandbox-loopback")
		}
	}
	return nil
}

// Allows reports whether a destination is on the list.
func (h Hosts) Allows(d Destination) bool {
	_, isAddress := d.Address()
	return slices.ContainsFunc(h.names, func(r hostRule) bool {
		if r.port != d.Port && (r.port != 0 || !slices.Contains(usualPorts, d.Port)) {
			return false
		}
		return r.host == d.Host || !isAddress && r.host[0] == '.' && strings.HasSuffix(d.Host, r.host)
	})
}

// AllowsAddress reports whether the list has an address, or a network with it.
func (h Hosts) AllowsAddress(at netip.AddrPort) bool {
	ip := at.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(h.networks, func(n netip.Prefix) bool { return n.Contains(ip) }) ||
		h.Allows(Destination{ip.String(), int(at.Port())})
}

// Contact is a destination that programs of a session reached or were refused.
type Contact struct {
	Destination
	Reason string // why it was not reached; "": it was reached
	Allow  string // what to allow so that it is reached; "": nothing helps
	Failed bool   // it is on the list, and did not answer
	Times  int
	Last   time.Time
}
