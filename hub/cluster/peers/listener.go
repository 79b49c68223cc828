package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Limits of a listener. Half of the handshakes are reserved for addresses of members, and for those
// from which a member has connected: members may have host names, or connect from other addresses.
const (
	mostHandshakes = 64
	mostStrangers  = mostHandshakes / 2
	mostOfStranger = 8 // concurrently from one address
	mostStreams    = 64
	mostRequests   = 16384 // connections; each page that is passed on holds one
)

// Listener accepts connections from other nodes on one port.
type Listener struct {
	node  *Node
	l     net.Listener
	raft  *incoming
	nodes *incoming
	ended sync.WaitGroup
	quit  context.CancelFunc
	ctx   context.Context

	mu         sync.Mutex
	handshakes int
	strangers  map[netip.Addr]int // handshakes
	unknown    int                // sum of strangers
	known      map[netip.Addr]struct{}
	streams    int
	requests   int
	join       func(context.Context, JoinRequest) (JoinReply, error)
}

// Listen opens the port. Raft's transport accepts raft's connections, and Serve all others.
func (n *Node) Listen(address string) (*Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return n.listenOn(l), nil
}

func (n *Node) listenOn(l net.Listener) *Listener {
	ctx, quit := context.WithCancel(context.Background())
	out := &Listener{node: n, l: l, ctx: ctx, quit: quit, raft: newIncoming(l.Addr()), nodes: newIncoming(l.Addr()),
		strangers: map[netip.Addr]int{}, known: map[netip.Addr]struct{}{}}
	out.ended.Go(out.accept)
	return out
}

// Addr returns the address of the port.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// StreamLayer returns raft's stream layer.
func (l *Listener) StreamLayer() raft.StreamLayer { return layer{l.raft, l.node} }

// OnJoin sets the function that answers joining nodes. Without it, they are refused.
func (l *Listener) OnJoin(join func(context.Context, JoinRequest) (JoinReply, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.join = join
}

// Close closes the port and waits for handshakes. It leaves accepted connections open.
func (l *Listener) Close() error {
	l.quit()
	err := l.l.Close()
	l.raft.Close()
	l.nodes.Close()
	l.ended.Wait()
	return err
}

func (l *Listener) accept() {
	for {
		c, err := l.l.Accept()
		if err != nil {
			if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-time.After(100 * time.Millisecond): // out of file descriptors
				continue
			case <-l.ctx.Done():
				return
			}
		}
		from := addressOf(c)
		if !l.beginHandshake(from) {
			c.Close()
			continue
		}
		l.ended.Go(func() { l.handshake(c, from) })
	}
}

func addressOf(c net.Conn) netip.Addr {
	a, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return a.Addr().Unmap()
}

// beginHandshake reports whether another handshake may start, and counts it.
func (l *Listener) beginHandshake(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handshakes >= mostHandshakes {
		return false
	}
	if _, known := l.known[from]; !known && !l.node.hasMemberAt(from) {
		if l.unknown >= mostStrangers || l.strangers[from] >= mostOfStranger {
			return false
		}
		l.unknown++
		l.strangers[from]++
	}
	l.handshakes++
	return true
}

// endHandshake stops counting a handshake.
func (l *Listener) endHandshake(from netip.Addr, isMember bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handshakes--
	if n := l.strangers[from]; n > 0 {
		l.unknown--
		if l.strangers[from]--; n == 1 {
			delete(l.strangers, from)
		}
	}
	if isMember && (len(l.known) < 4*mostMembers) {
		l.known[from] = struct{}{}
	}
}

// handshake runs a handshake and passes the connection to its acceptor.
func (l *Listener) handshake(c net.Conn, from netip.Addr) {
	var member Member
	t := tls.Server(c, l.node.tlsConfig(func(state tls.ConnectionState) (err error) {
		switch state.NegotiatedProtocol {
		case protocolJoin:
			return nil // its token is checked after the handshake
		case protocolRaft, protocolNode:
			member, err = l.node.member(state)
			return err
		}
		return errors.New("the other side named no known protocol")
	}, protocolRaft, protocolNode, protocolJoin))
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTime)
	err := t.HandshakeContext(ctx)
	cancel()
	if err == nil && member.Name == "" {
		l.answerJoin(t) // counts as a handshake
	}
	l.endHandshake(from, err == nil && member.Name != "")
	if err != nil || member.Name == "" {
		c.Close()
		return
	}
	to, count, most := l.nodes, &l.requests, mostRequests
	if t.ConnectionState().NegotiatedProtocol == protocolRaft {
		to, count, most = l.raft, &l.streams, mostStreams
	}
	if !l.acquire(count, most) {
		c.Close()
		return
	}
	tracked, err := l.node.track(t, member, func() { l.release(count) })
	if err != nil {
		l.release(count)
		c.Close()
		return
	}
	to.deliver(tracked)
}

func (l *Listener) acquire(count *int, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *count >= most {
		return false
	}
	*count++
	return true
}

func (l *Listener) release(count *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*count--
}

type memberKey struct{}

// FromContext returns the member that sent a request served by Serve.
func FromContext(ctx context.Context) (Member, bool) {
	m, ok := ctx.Value(memberKey{}).(Member)
	return m, ok
}

// Serve serves other nodes' requests until ctx is canceled.
func (l *Listener) Serve(ctx context.Context, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if c, ok := c.(*conn); ok {
				return context.WithValue(ctx, memberKey{}, c.member)
			}
			return ctx
		}}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	err := s.Serve(l.nodes)
	if ctx.Err() != nil || l.ctx.Err() != nil {
		return nil
	}
	return err
}

// incoming is a net.Listener of connections that passed the handshake.
type incoming struct {
	address net.Addr
	conns   chan net.Conn
	closing chan struct{}
	once    sync.Once
}

func newIncoming(address net.Addr) *incoming {
	return &incoming{address: address, conns: make(chan net.Conn), closing: make(chan struct{})}
}

// deliver waits until the connection is accepted, and closes it if that takes too long.
func (i *incoming) deliver(c net.Conn) {
	wait := time.NewTimer(handshakeTime)
	defer wait.Stop()
	select {
	case i.conns <- c:
	case <-i.closing:
		c.Close()
	case <-wait.C:
		c.Close()
	}
}

// Accept implements net.Listener.
func (i *incoming) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.closing:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (i *incoming) Close() error {
	i.once.Do(func() { close(i.closing) })
	return nil
}

// Addr implements net.Listener.
func (i *incoming) Addr() net.Addr { return i.address }
