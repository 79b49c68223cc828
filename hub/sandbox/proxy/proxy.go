package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/outbound"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/relayed"
)

// Proxy serves the connections of all sessions.
type Proxy struct {
	cfg      Config
	contacts contacts
	listener *relayed.Listener
	server   *http.Server
	forward  *httputil.ReverseProxy

	mu    sync.Mutex
	conns map[string]int // by session
}

// client is a connection of a program.
type client struct {
	net.Conn
	session string
	hosts   sandbox.Hosts
}

// CloseWrite ends sending.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

type clientKey struct{}

// New returns a running proxy.
func New(cfg Config) *Proxy {
	if cfg.IsPublic == nil {
		cfg.IsPublic = outbound.IsPublic
	}
	if cfg.IsHub == nil {
		cfg.IsHub = func(netip.AddrPort) bool { return false }
	}
	p := &Proxy{cfg: cfg, contacts: contacts{log: cfg.Log, dir: cfg.Dir}, listener: relayed.New(), conns: map[string]int{}}
	silent := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{Rewrite: forwardAs, ErrorHandler: answerError,
		FlushInterval: -1, ErrorLog: silent, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return p.dial(ctx, ctx.Value(destinationKey{}).(sandbox.Destination), "http", dialForward)
			},
			Proxy: func(r *http.Request) (*url.URL, error) {
				return p.upstreamOf("http", r.Context().Value(destinationKey{}).(sandbox.Destination))
			},
			DisableCompression: true, ResponseHeaderTimeout: answerTime, MaxResponseHeaderBytes: 1 << 20,
			DisableKeepAlives: true, // each connection is checked for its session
		}}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTime, IdleTimeout: time.Minute,
		MaxHeaderBytes: mostHeader, ErrorLog: silent, DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, clientKey{}, relayed.Unwrap(conn))
		}}
	go func() { _ = p.server.Serve(p.listener) }() // until Close
	return p
}

// forwardAs builds the outgoing request: to the checked host, otherwise unchanged.
func forwardAs(r *httputil.ProxyRequest) { r.Out.Host, r.Out.URL.RawQuery = "", r.In.URL.RawQuery }

// Close ends all connections.
func (p *Proxy) Close() {
	_ = errors.Join(p.listener.Close(), p.server.Close())
	p.contacts.close()
}

// Serve serves a connection of a program in the box of a policy, and returns once it is closed.
func (p *Proxy) Serve(policy *sandbox.Policy, conn net.Conn) {
	defer conn.Close()
	hosts, err := sandbox.ParseHosts(policy.Allow)
	if err != nil {
		return // no policy has such a list
	}
	if !p.count(policy.Session, 1) {
		_ = conn.SetDeadline(time.Now().Add(headerTime))
		_, _ = io.WriteString(conn, "HTTP/1.1 503 too many connections of this session\r\nConnection: close\r\n"+
			"Content-Length: 0\r\n\r\n")
		return
	}
	defer p.count(policy.Session, -1)
	p.listener.Hand(&client{conn, policy.Session, hosts})
}

// count changes the number of a session's connections, and returns false if there are too many.
func (p *Proxy) count(session string, change int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[session]+change > mostConns {
		return false
	}
	if p.conns[session] += change; p.conns[session] == 0 {
		delete(p.conns, session)
	}
	return true
}

// refusal is why a destination is not reached, for the program.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

type destinationKey struct{}

// serve answers one request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	d, err := destinationOf(r)
	if err == nil {
		err = p.admit(r.Context(), d)
	}
	if err != nil {
		answerError(w, r, err)
		return
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), destinationKey{}, d)))
}

// destinationOf returns the destination of a request other than CONNECT.
func destinationOf(r *http.Request) (d sandbox.Destination, err error) {
	switch {
	case !r.URL.IsAbs():
		return d, refuse(http.StatusBadRequest, "this is the proxy of an ahphub sandbox, and no web server")
	case r.URL.Scheme != "http" || r.URL.User != nil || r.URL.Opaque != "":
		return d, refuse(http.StatusBadRequest, "this proxy forwards http:// alone, and https by CONNECT")
	}
	d, err = sandbox.ParseDestination(r.URL.Host, 80)
	if err != nil {
		return d, refuse(http.StatusBadRequest, "no such host: %v", err)
	}
	if r.URL.Host = d.String(); d.Port == 80 { // as it was checked, and as clients write it
		r.URL.Host = strings.TrimSuffix(r.URL.Host, ":80")
	}
	return d, nil
}

// admit refuses a destination that is not on its client's list.
func (p *Proxy) admit(ctx context.Context, d sandbox.Destination) error {
	c := ctx.Value(clientKey{}).(*client)
	if c.hosts.Allows(d) {
		return nil
	}
	if _, err := sandbox.ParseHosts([]string{d.Rule()}); err != nil {
		p.contacts.note(c.session, sandbox.Contact{Destination: d, Reason: "an address of this computer or its link"})
		return refuse(http.StatusForbidden, "%s is an address of this computer or its link, which sandboxes never reach by "+
			"the proxy. The owner can name a loopback port: --sandbox-loopback", d)
	}
	p.contacts.note(c.session, sandbox.Contact{Destination: d, Reason: "not on the list", Allow: d.Rule()})
	return refuse(http.StatusForbidden, "%s is not on this sandbox's list of hosts. The owner can add it: "+
		"--sandbox-allow %s", d, d.Rule())
}

// dialForward connects to an upstream proxy, for plain requests.
func dialForward(ctx context.Context, up *url.URL, _ sandbox.Destination) (net.Conn, error) {
	return dialUpstream(ctx, up)
}

// dial connects to an admitted destination; with an upstream proxy, it connects with through.
func (p *Proxy) dial(ctx context.Context, d sandbox.Destination, scheme string,
	through func(context.Context, *url.URL, sandbox.Destination) (net.Conn, error),
) (net.Conn, error) {
	c := ctx.Value(clientKey{}).(*client)
	check := func(at netip.AddrPort) error {
		ip := at.Addr().Unmap().WithZone("")
		if !p.cfg.IsHub(netip.AddrPortFrom(ip, at.Port())) && (p.cfg.IsPublic(ip) || c.hosts.AllowsAddress(at)) {
			return nil
		}
		return &closedAddress{ip}
	}
	up, err := p.upstreamOf(scheme, d)
	reason := plainReason
	var conn net.Conn
	switch {
	case err != nil:
		reason = error.Error
	case up != nil:
		if err = p.checkNames(ctx, d, check); err == nil {
			reason = error.Error
			conn, err = through(ctx, up, d)
		}
	default:
		dialer := outbound.Dialer{Timeout: dialTime, Resolver: p.cfg.Resolver, Check: check}
		conn, err = dialer.DialContext(ctx, "tcp", d.String())
	}
	closed, isClosed := errors.AsType[*closedAddress](err)
	switch {
	case isClosed:
		p.contacts.note(c.session, sandbox.Contact{Destination: d, Reason: closed.Error(), Allow: closed.network()})
		return nil, refuse(http.StatusForbidden, "%s leads to an address of a private network. The owner can allow that "+
			"network: --sandbox-allow NETWORK/BITS", d)
	case err != nil:
		p.contacts.note(c.session, sandbox.Contact{Destination: d, Reason: reason(err), Failed: true})
		return nil, refuse(http.StatusBadGateway, "%s cannot be reached: %s", d, reason(err))
	}
	p.contacts.note(c.session, sandbox.Contact{Destination: d})
	return conn, nil
}

// closedAddress reports an address that a destination must not have.
type closedAddress struct{ ip netip.Addr }

func (e *closedAddress) Error() string {
	return fmt.Sprintf("leads to %s, on this computer or a private network", e.ip)
}

// network returns the entry that would allow the address, or "".
func (e *closedAddress) network() string {
	network := netip.PrefixFrom(e.ip, e.ip.BitLen()).String()
	if _, err := sandbox.ParseHosts([]string{network}); err != nil {
		return ""
	}
	return network
}

// plainReason returns why a connection failed, without addresses of this computer's name servers.
func plainReason(err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound {
			return "no such name"
		}
		return "its name cannot be resolved now"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "it does not answer"
	}
	return "the connection is refused"
}

// answerError answers with the error as text.
func answerError(w http.ResponseWriter, _ *http.Request, err error) {
	status, text := words(err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintln(w, "ahphub: "+text)
}

func words(err error) (status int, text string) {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.status, refused.text
	}
	return http.StatusBadGateway, "the connection failed"
}

// tunnel answers CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	d, err := sandbox.ParseDestination(r.RequestURI, 0)
	if err != nil {
		err = refuse(http.StatusBadRequest, "no such host: %v", err)
	}
	if err == nil {
		err = p.admit(r.Context(), d)
	}
	var there net.Conn // the client may already have ended sending
	if err == nil {
		if there, err = p.dial(context.WithoutCancel(r.Context()), d, "https", tunnelThrough); err == nil {
			defer there.Close()
		}
	}
	here, buffered, wrong := w.(http.Hijacker).Hijack()
	if wrong != nil {
		return
	}
	defer here.Close()
	_ = here.SetDeadline(time.Now().Add(headerTime))
	if err != nil {
		status, text := words(err) // also as the status reason: some programs show only that
		fmt.Fprintf(here, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
			"Connection: close\r\n\r\n%s\n", status, text, len(text)+1, text)
		return
	}
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(here, buffered.Reader, there)
}

// join copies both directions of a tunnel until both have ended, or the tunnel is idle.
func join(here net.Conn, first *bufio.Reader, there net.Conn) {
	touch := func() {
		until := time.Now().Add(idleTime)
		_ = errors.Join(here.SetDeadline(until), there.SetDeadline(until))
	}
	touch()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(there, first, touch) })
	both.Go(func() { copyHalf(here, there, touch) })
	both.Wait()
}

// copyHalf copies one direction, and then ends sending.
func copyHalf(to net.Conn, from io.Reader, touch func()) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			touch()
			if _, failed := to.Write(buf[:n]); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = closeWrite(to)
}

// closeWrite ends sending on a connection that supports it, and otherwise closes it.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
