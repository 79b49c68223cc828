// Package proxytest serves names for tests of sandboxes' network access.
package proxytest

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is a name server on loopback.
type Names struct {
	Resolver *net.Resolver

	mu    sync.Mutex
	of    map[string][]netip.Addr
	asked []string
}

// New serves names until the test ends. Each lookup of a name returns its next address, and finally the last one.
func New(t testing.TB, names map[string]string) *Names {
	t.Helper()
	n := &Names{of: map[string][]netip.Addr{}}
	for name, addresses := range names {
		for a := range strings.FieldsSeq(addresses) {
			n.of[name] = append(n.of[name], netip.MustParseAddr(a))
		}
	}
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	go n.serve(server)
	return n
}

// Asked returns the names that were looked up.
func (n *Names) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.asked...)
}

func (n *Names) serve(server net.PacketConn) {
	buf := make([]byte, 512)
	for {
		size, from, err := server.ReadFrom(buf)
		if err != nil {
			return
		}
		if raw, ok := n.answer(buf[:size]); ok {
			_, _ = server.WriteTo(raw, from)
		}
	}
}

func (n *Names) answer(raw []byte) ([]byte, bool) {
	var m dnsmessage.Message
	if m.Unpack(raw) != nil || len(m.Questions) != 1 {
		return nil, false
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	m.Response, m.Additionals = true, nil
	n.mu.Lock()
	defer n.mu.Unlock()
	all, known := n.of[name]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	n.asked = append(n.asked, name)
	if known && all[0].Is4() == (q.Type == dnsmessage.TypeA) {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		if all[0].Is4() {
			m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: all[0].As4()}}}
		} else {
			m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AAAAResource{AAAA: all[0].As16()}}}
		}
		if len(all) > 1 {
			n.of[name] = all[1:]
		}
	}
	packed, err := m.Pack()
	return packed, err == nil
}
