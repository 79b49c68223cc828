package notify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/outbound"
)

// refusedAddress is the error for an address that the owner did not allow.
type refusedAddress struct {
	ip    netip.Addr
	plain bool
}

func (e *refusedAddress) Error() string {
	if e.plain && outbound.IsPublic(e.ip) {
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

// dial connects to a webhook's address if that is allowed.
func (p *poster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	plain, _ := ctx.Value(plainKey{}).(bool)
	d := outbound.Dialer{Timeout: 10 * time.Second,
		Check: func(at netip.AddrPort) error { return p.mayReach(at.Addr(), plain) }}
	return d.DialContext(ctx, network, address)
}

func (p *poster) mayReach(ip netip.Addr, plain bool) error {
	ip = ip.Unmap().WithZone("")
	allowed := slices.ContainsFunc(p.allow, func(a netip.Prefix) bool { return a.Contains(ip) })
	if allowed || !plain && outbound.IsPublic(ip) {
		return nil
	}
	return &refusedAddress{ip, plain}
}
