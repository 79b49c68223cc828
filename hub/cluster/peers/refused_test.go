package peers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestRefuseUnauthenticatedConnections(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	b, _ := w.join("b")
	certificateOf := func(who identity, ca *x509.Certificate, key ed25519.PrivateKey, at time.Time) *tls.Certificate {
		t.Helper()
		own, _, err := newRequest()
		if err != nil {
			t.Fatal(err)
		}
		der, err := sign(ca, key, own.Public().(ed25519.PublicKey), who, at)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}
	}
	signed := func(who identity) *tls.Certificate {
		return certificateOf(who, w.node.ca, w.authority.key, w.clock.now())
	}
	with := func(change func(*identity)) identity { who := b.id; change(&who); return who }
	_, own, _ := ed25519.GenerateKey(rand.Reader)
	selfDER, err := newAuthority(w.node.id.cluster, own, w.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	leaf := b.certificate()
	byNode := certificateOf(w.node.id, leaf.Leaf, leaf.PrivateKey.(ed25519.PrivateKey), w.clock.now())
	byNode.Certificate = append(byNode.Certificate, leaf.Certificate...)
	expired, early := w.clock.now().Add(-certificateLife-time.Hour), w.clock.now().Add(2*clockSkew)
	for name, c := range map[string]struct {
		cert     *tls.Certificate
		protocol string
		most     uint16
		fine     bool
	}{
		"a member":                   {cert: signed(b.id), fine: true},
		"no certificate":             {},
		"no certificate, for raft":   {protocol: protocolRaft},
		"self-signed":                {cert: &tls.Certificate{Certificate: [][]byte{selfDER}, PrivateKey: own}},
		"another authority's":        {cert: certificateOf(b.id, other.node.ca, other.authority.key, w.clock.now())},
		"another cluster's id":       {cert: signed(with(func(i *identity) { i.cluster = other.node.id.cluster }))},
		"a name that no member has":  {cert: signed(with(func(i *identity) { i.name = "c" }))},
		"the name of another member": {cert: signed(with(func(i *identity) { i.name = "a" }))},
		"another incarnation":        {cert: signed(with(func(i *identity) { i.incarnation = randomID() }))},
		"expired":                    {cert: certificateOf(b.id, w.node.ca, w.authority.key, expired)},
		"not valid yet":              {cert: certificateOf(b.id, w.node.ca, w.authority.key, early)},
		"signed by a node":           {cert: byNode},
		"no protocol":                {cert: signed(b.id), protocol: "none"},
		"another protocol":           {cert: signed(b.id), protocol: "h2"},
		"TLS 1.2":                    {cert: signed(b.id), most: tls.VersionTLS12},
		"another node's certificate": {cert: &tls.Certificate{Certificate: leaf.Certificate, PrivateKey: own}},
	} {
		t.Run(name, func(t *testing.T) {
			protocols := []string{protocolNode}
			if c.protocol == "none" {
				protocols = nil
			} else if c.protocol != "" {
				protocols = []string{c.protocol}
			}
			conn, err := net.Dial("tcp", w.node.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols, MaxVersion: c.most,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if c.cert == nil {
						return &tls.Certificate{}, nil
					}
					return c.cert, nil
				}})
			fmt.Fprint(s, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			got, err := io.ReadAll(s)
			if fine := strings.Contains(string(got), "b true"); fine != c.fine {
				t.Errorf("the answer is %q, %v", got, err)
			}
		})
	}
}

// Another node at a member's address is not accepted as that member.
func TestRefuseWrongNodeAtAddress(t *testing.T) {
	w := newWorld(t)
	b, lb := w.join("b")
	members := w.node.Members()
	members[0].Address, members[1].Address = members[1].Address, members[0].Address
	if err := b.SetMembers(members); err != nil {
		t.Fatal(err)
	}
	for _, dial := range []func() (net.Conn, error){
		func() (net.Conn, error) { return b.dial(t.Context(), "a", protocolNode) },
		func() (net.Conn, error) {
			return lb.StreamLayer().Dial(raft.ServerAddress(members[0].Address), time.Minute)
		},
	} {
		if c, err := dial(); err == nil || !strings.Contains(err.Error(), "is b, not a") {
			t.Errorf("a node was accepted as another: %v, %v", c, err)
		}
	}
}

// An attacker on the network, without a certificate, cannot make a node believe that it was
// removed.
func TestStrangerCannotFakeRemoval(t *testing.T) {
	w := newWorld(t)
	b, _ := w.join("b")
	l := openPort(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			io.WriteString(c, "\x15\x03\x03\x00\x02\x02\x2a") // the alert bad_certificate
			c.Close()
		}
	}()
	members := w.node.Members()
	members[0].Address = l.Addr().String()
	if err := b.SetMembers(members); err != nil {
		t.Fatal(err)
	}
	got, err := get(b, "a")
	if err == nil || errors.Is(err, ErrTurnedAway) || !strings.Contains(err.Error(), "remote error") {
		t.Errorf("the stranger's alert was accepted: %q, %v", got, err)
	}
}

func TestRefuseInvalidJoinRequests(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff" + strings.Repeat("x", 1<<16), "\x00"} {
		c, err := net.Dial("tcp", w.node.Address())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, text)
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c) // until the server closes it
		c.Close()
	}
	join := func(body string) string {
		t.Helper()
		c, err := tls.Dial("tcp", w.node.Address(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocolJoin}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() { io.WriteString(c, body); c.CloseWrite() }()
		b, _ := io.ReadAll(c)
		return string(b)
	}
	if got := join(`{"name":"` + strings.Repeat("x", mostRequest)); got != "" {
		t.Errorf("a request over the limit got the answer %q", got)
	}
	for _, body := range []string{"garbage", "{", `[]`} {
		if got := join(body); got != "" {
			t.Errorf("%q got the answer %q", body, got)
		}
	}
	if got := join(`{}`); !strings.Contains(got, "not valid") {
		t.Errorf("a request without a token got the answer %q", got)
	}
	for err, want := range map[error]string{
		errors.New("dial tcp 10.0.0.3:8138: connection refused"): "cannot add a node now",
		Refuse(errors.New("the name is taken")):                  "the name is taken",
	} {
		w.listener.OnJoin(func(context.Context, JoinRequest) (JoinReply, error) { return JoinReply{}, err })
		if got := join(`{}`); !strings.Contains(got, want) || strings.Contains(got, "10.0.0.3") {
			t.Errorf("after the error %q, the answer is %q", err, got)
		}
	}
	w.listener.OnJoin(nil)
	if got := join(`{}`); !strings.Contains(got, "knows no leader") {
		t.Errorf("without a leader, the answer is %q", got)
	}
	if _, err := get(w.node, "a"); err != nil {
		t.Error(err)
	}
}

func FuzzParseInvite(f *testing.F) {
	f.Add(Invite{Address: "127.0.0.1:80"}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := ParseInvite(text); err == nil && i.String()[:5] != tokenPrefix {
			t.Error("the token is formatted differently")
		}
	})
}
