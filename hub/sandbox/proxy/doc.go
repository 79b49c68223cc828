// Package proxy connects sandboxes with a list of hosts to the network: an HTTP proxy that forwards requests and
// CONNECT to hosts on a session's list, and records what the session reached and what was denied. Its clients are
// hostile. It resolves names itself and checks the address that it connects to. If this computer reaches the network
// only through a proxy, it uses that one.
package proxy

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"time"
)

// Config configures a Proxy.
type Config struct {
	Log      *slog.Logger
	Dir      string                       // of the private files of sandboxes, where contacts are stored; "": nowhere
	Resolver *net.Resolver                // nil: the system's
	IsPublic func(netip.Addr) bool        // nil: addresses of the Internet
	IsHub    func(at netip.AddrPort) bool // whether an address is the hub's own port, which no list opens; nil: never

	// Upstream returns the proxy through which this computer reaches an address. May be nil, or return nil: no proxy.
	Upstream func(*url.URL) (*url.URL, error)
}

const (
	mostConns     = 128              // concurrent connections of one session
	mostHeader    = 16 << 10         // bytes of a request's header
	headerTime    = 10 * time.Second // timeout of a request's header
	dialTime      = 15 * time.Second
	namesTime     = 3 * time.Second  // timeout to resolve a name that an upstream proxy resolves
	answerTime    = 5 * time.Minute  // timeout of an answer's header
	idleTime      = 30 * time.Minute // timeout of an idle tunnel
	mostContacts  = 100              // recorded per session and kind
	mostSessions  = 500              // sessions with recorded contacts
	mostLogged    = 500              // logged contacts per session
	longestReason = 200
)
