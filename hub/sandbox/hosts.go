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

// Registries are the hosts of package registries, which programs can reach on the network List.
var Registries = []string{
	"registry.npmjs.org", "registry.yarnpkg.com",
	"pypi.org", "files.pythonhosted.org",
	"crates.io", "index.crates.io", "static.crates.io",
	"proxy.golang.org", "sum.golang.org",
	"rubygems.org", "index.rubygems.org",
	"deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com",
}

// Destination is a host and port that a program connects to.
type Destination struct {
	Host string // a name in lower case without a final dot, or an address without brackets
	Port int
}

// String returns the destination in the format of ParseHosts.
func (d Destination) String() string {
	if strings.Contains(d.Host, ":") {
		return fmt.Sprintf("[%s]:%d", d.Host, d.Port)
	}
	return fmt.Sprintf("%s:%d", d.Host, d.Port)
}

// usualPorts are the ports of a host that is listed without a port: http and https.
var usualPorts = []int{80, 443}

// Rule returns the entry that allows the destination.
func (d Destination) Rule() string {
	if slices.Contains(usualPorts, d.Port) {
		return d.Host
	}
	return d.String()
}

// Address returns the address of a destination, or false if it is a name.
func (d Destination) Address() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(d.Host)
	return ip, err == nil
}

// errHost describes valid hosts.
var errHost = errors.New("use a host name as in registry.example.com (xn--… for other letters), or an address")

// ParseDestination parses host:port, with brackets around an IPv6 address. port is the default port; 0: the text must
// have one.
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

// parseHost returns a host in its canonical form for comparisons.
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

// isName reports whether s is a host name in lower case. It excludes names that end in a number, which libraries take
// for addresses, such as 127.1 and 0x7f000001.
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

// Hosts is a list of hosts that programs can reach on the network List.
type Hosts struct {
	names    []hostRule
	networks []netip.Prefix
}

type hostRule struct {
	host string // a leading dot means every name with this suffix
	port int    // 0: usualPorts
}

// ParseHosts parses a list of hosts: names, suffixes like *.example.com, and addresses, with a port or for usualPorts.
// A network, like 10.1.0.0/16, allows names on the list to have addresses in it.
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
		rest = "[" + rest + "]" // an address without a port has no brackets
	}
	d, err := ParseDestination(rest, 0)
	port := d.Port
	if err != nil { // it has no port, or is invalid
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

// closedNetworks cannot be on any list: this computer, link-local addresses with cloud metadata, multicast, and
// addresses that are translated to others.
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

// AllowsAddress reports whether the list has an address, or a network that contains it.
func (h Hosts) AllowsAddress(at netip.AddrPort) bool {
	ip := at.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(h.networks, func(n netip.Prefix) bool { return n.Contains(ip) }) ||
		h.Allows(Destination{ip.String(), int(at.Port())})
}

// Contact is a destination that a session's programs reached or were denied.
type Contact struct {
	Destination
	Reason string // why it was not reached; "": it was
	Allow  string // the entry that would allow it; "": none would
	Failed bool   // it is on the list, but did not answer
	Times  int
	Last   time.Time
}
