// Package proxy is what sandboxes with a list of hosts reach the network by: an HTTP proxy that forwards requests and
// CONNECT to what is on the list of a session, and remembers what the session reached and what was refused. Its clients
// are hostile. It resolves names itself and checks the address that it connects to. Where this computer reaches the
// network by a proxy alone, it connects by that one.
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
	Dir      string                       // of the private files of sandboxes, where contacts are kept; "": nowhere
	Resolver *net.Resolver                // nil: the system's
	IsPublic func(netip.Addr) bool        // nil: addresses of the Internet
	IsHub    func(at netip.AddrPort) bool // whether an address is the hub's own port, which no list opens; nil: none is

	// Upstream returns the proxy by which this computer reaches an address; nil, or when it returns nil: none.
	Upstream func(*url.URL) (*url.URL, error)
}

const (
	mostConns     = 128              // of one session at once
	mostHeader    = 16 << 10         // bytes of a request's header
	headerTime    = 10 * time.Second // in which a request's header is there
	dialTime      = 15 * time.Second
	namesTime     = 3 * time.Second  // to look a name up that an upstream proxy resolves
	answerTime    = 5 * time.Minute  // in which the header of an answer is there
	idleTime      = 30 * time.Minute // after which a tunnel without a byte ends
	mostContacts  = 100              // remembered of one session of each kind
	mostSessions  = 500              // whose contacts are remembered
	mostLogged    = 500              // contacts of one session in the log
	longestReason = 200
)
