package notify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// refusedAddress is the error for an address that the owner did not allow.
type refusedAddress struct {
	ip    netip.Addr
	plain bool
}

func (e *refusedAddress) Error() string {
	if e.plain && isPublic(e.ip) {
		return "use https: plain http is only allowed for addresses named with --notify-allow"
	}
	return fmt.Sprintf("%s is an address of a private network. Start ahphub with --notify-allow %s to allow it", e.ip,
		netip.PrefixFrom(e.ip, e.ip.BitLen()))
}

type plainKey struct{}

// withPlain marks a request as sent without TLS.
func withPlain(ctx context.Context, plain bool) context.Context {
	return context.WithValue(ctx, plainKey{}, plain)
}

// dial checks the address that is connected to, not the name: a name may resolve differently the
// next time.
func (p *poster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	plain, _ := ctx.Value(plainKey{}).(bool)
	d := net.Dialer{Timeout: 10 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return p.mayReach(at.Addr(), plain)
		}}
	return d.DialContext(ctx, network, address)
}

func (p *poster) mayReach(ip netip.Addr, plain bool) error {
	ip = ip.Unmap().WithZone("")
	allowed := slices.ContainsFunc(p.allow, func(a netip.Prefix) bool { return a.Contains(ip) })
	if allowed || !plain && isPublic(ip) {
		return nil
	}
	return &refusedAddress{ip, plain}
}

// reserved are ranges that netip does not call private and that still lead to this machine or
// network, or nowhere.
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

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(r netip.Prefix) bool { return r.Contains(ip) })
}
