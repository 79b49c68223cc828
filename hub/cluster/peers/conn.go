package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	handshakeTime = 5 * time.Second
	dialTime      = 5 * time.Second
)

// conn is a connection to another node. SetMembers closes it when that node is removed.
type conn struct {
	net.Conn
	member Member
	once   sync.Once
	closed func()
}

// ErrTurnedAway is returned when another node refuses this node's certificate. The other node has
// proved its own certificate by then, so an attacker on the network cannot cause this error.
var ErrTurnedAway = errors.New("this node was removed from the cluster, or its certificate has expired")

// Read implements net.Conn. It turns a TLS alert from the other side into ErrTurnedAway.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		err = fmt.Errorf("%w: %w", ErrTurnedAway, err)
	}
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// track registers a connection, unless its node was removed in the meantime.
func (n *Node) track(c net.Conn, m Member, closed func()) (*conn, error) {
	t := &conn{Conn: c, member: m}
	t.closed = func() {
		n.mu.Lock()
		delete(n.open, t)
		n.mu.Unlock()
		closed()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now, ok := n.members[m.Name]; !ok || now.Incarnation != m.Incarnation {
		return nil, fmt.Errorf("%w: %s", errNotMember, m.Name)
	}
	n.open[t] = struct{}{}
	return t, nil
}

// find returns the member with the given name or address.
func (n *Node) find(where string) (Member, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m, ok := n.members[where]; ok {
		return m, nil
	}
	for _, m := range n.members {
		if m.Address == where {
			return m, nil
		}
	}
	return Member{}, fmt.Errorf("%s is not a node of this cluster", where)
}

// hasMemberAt reports whether a member's address is this IP address.
func (n *Node) hasMemberAt(ip netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.members {
		host, _, _ := net.SplitHostPort(m.Address)
		if at, err := netip.ParseAddr(host); err == nil && at.Unmap() == ip {
			return true
		}
	}
	return false
}

// dial connects to a member and refuses any other node at its address.
func (n *Node) dial(ctx context.Context, where, protocol string) (net.Conn, error) {
	m, err := n.find(where)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return nil, err
	}
	t := tls.Client(c, n.tlsConfig(func(state tls.ConnectionState) error {
		other, err := n.member(state)
		switch {
		case err != nil:
			return err
		case other.Name != m.Name:
			return fmt.Errorf("the node at %s is %s, not %s", m.Address, other.Name, m.Name)
		case state.NegotiatedProtocol != protocol:
			return fmt.Errorf("%s does not support %s: use the same release of ahphub on all nodes", m.Name, protocol)
		}
		return nil
	}, protocol))
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	out, err := n.track(t, m, func() {})
	if err != nil {
		c.Close()
		return nil, err
	}
	return out, nil
}

// Transport returns a transport for requests to other nodes: http://NAME/path goes to the node with
// that name.
func (n *Node) Transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return n.dial(ctx, host, protocolNode)
		},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
}

// layer implements raft.StreamLayer.
type layer struct {
	*incoming
	node *Node
}

var _ raft.StreamLayer = layer{}

// Dial implements raft.StreamLayer.
func (l layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return l.node.dial(ctx, string(address), protocolRaft)
}
