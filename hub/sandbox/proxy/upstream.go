package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// upstreamOf returns the proxy through which this computer reaches a destination; nil: none.
func (p *Proxy) upstreamOf(scheme string, d sandbox.Destination) (*url.URL, error) {
	if p.cfg.Upstream == nil {
		return nil, nil
	}
	up, err := p.cfg.Upstream(&url.URL{Scheme: scheme, Host: d.String()})
	switch {
	case err != nil:
		return nil, errors.New("the proxy that the server is to use is no address")
	case up != nil && up.Scheme != "http" && up.Scheme != "https":
		return nil, errors.New("the proxy that the server is to use is neither http:// nor https://")
	}
	return up, nil
}

// checkNames refuses a destination whose name resolves on this computer to a forbidden address. Names that are unknown
// here are left to the upstream proxy: they are on the session's list.
func (p *Proxy) checkNames(ctx context.Context, d sandbox.Destination, check func(netip.AddrPort) error) error {
	if ip, is := d.Address(); is {
		return check(netip.AddrPortFrom(ip, uint16(d.Port)))
	}
	resolver := p.cfg.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	ips, _ := resolver.LookupNetIP(ctx, "ip", d.Host)
	for _, ip := range ips {
		if err := check(netip.AddrPortFrom(ip.Unmap(), uint16(d.Port))); err != nil {
			return err
		}
	}
	return nil
}

// tunnelThrough connects to a destination through an upstream proxy.
func tunnelThrough(ctx context.Context, up *url.URL, d sandbox.Destination) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := dialUpstream(ctx, up)
	if err != nil {
		return nil, err
	}
	if up.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: up.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, errors.New("the certificate of the server's own proxy is not trusted, or it speaks no TLS")
		}
		conn = secure
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	login := ""
	if user := up.User; user != nil {
		password, _ := user.Password()
		login = "Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", d, d, login); err != nil {
		conn.Close()
		return nil, errUpstream
	}
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server's own proxy refuses it with %d", res.StatusCode)
	} else if err != nil {
		err = errUpstream
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return &read{conn, r}, nil
}

var errUpstream = errors.New("the server's own proxy does not answer")

// dialUpstream connects to an upstream proxy.
func dialUpstream(ctx context.Context, up *url.URL) (net.Conn, error) {
	port := up.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[up.Scheme]
	}
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(up.Hostname(), port))
	if err != nil {
		return nil, errUpstream
	}
	return conn, nil
}

// read is a connection whose first bytes may already be buffered.
type read struct {
	net.Conn
	r *bufio.Reader
}

func (c *read) Read(b []byte) (int, error) { return c.r.Read(b) }

// CloseWrite ends sending.
func (c *read) CloseWrite() error { return closeWrite(c.Conn) }
