// Package outbound connects to addresses that users name, without giving access to this computer or its networks.
package outbound

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Dialer connects to addresses that Check accepts. Check gets the address of the connection, not the name, as a name
// may resolve differently the next time.
type Dialer struct {
	Check    func(at netip.AddrPort) error
	Timeout  time.Duration
	Resolver *net.Resolver // nil: the system's
}

// DialContext connects like a net.Dialer.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: d.Timeout, Resolver: d.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return d.Check(at)
		}}
	return dialer.DialContext(ctx, network, address)
}

// reserved are ranges that netip does not call private but that still lead to this machine or network, or nowhere.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// IsPublic reports whether an address is on the Internet: not this computer or its networks, nor an address that is
// translated to one of them.
func IsPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(r netip.Prefix) bool { return r.Contains(ip) })
}
