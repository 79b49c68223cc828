package join

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/ahphub/ahphub/hub/machines"
)

// greeting is the timeout for the handshake and the two messages.
const greeting = 15 * time.Second

// Redeem creates a machine from a token's secret, once.
type Redeem func(ctx context.Context, secret [machines.SecretBytes]byte, name string, key ed25519.PublicKey) (
	machines.Machine, error)

// Hub accepts machines.
type Hub struct {
	registry *machines.Registry
	redeem   Redeem
	version  string
	tls      *tls.Config
}

// NewHub returns a Hub for the machines of a registry. version is ahphub's version.
func NewHub(registry *machines.Registry, version string, redeem Redeem) (*Hub, error) {
	// Any key may connect: a machine with an unknown key must present a token.
	cfg, err := config(registry.Key(), func(ed25519.PublicKey) error { return nil })
	return &Hub{registry: registry, redeem: redeem, version: version, tls: cfg}, err
}

// Peer is a machine that the hub accepted.
type Peer struct {
	net.Conn
	Machine machines.Machine
	Report  machines.Report
	Joined  bool // in this connection, with a token
}

// Accept greets the machine at the other end of conn. It sends a refused machine the reason, and closes conn.
func (h *Hub) Accept(ctx context.Context, conn net.Conn) (*Peer, error) {
	peer, err := h.accept(ctx, conn)
	if err != nil {
		conn.Close()
	}
	return peer, err
}

func (h *Hub) accept(ctx context.Context, conn net.Conn) (*Peer, error) {
	lift, err := withDeadline(conn, greeting)
	if err != nil {
		return nil, err
	}
	over := tls.Server(conn, h.tls)
	key, err := secure(ctx, over)
	if err != nil {
		return nil, err
	}
	var say hello
	if err := readMessage(over, &say); err != nil {
		return nil, err
	}
	peer := &Peer{Conn: over, Report: say.Report}
	peer.Machine, peer.Joined, err = h.admit(ctx, key, say)
	if err != nil {
		_ = writeMessage(over, Welcome{Error: words(err), Gone: isFinal(err), Version: h.version, Speaks: Speaks})
		_ = over.CloseWrite()
		return nil, err
	}
	if err := writeMessage(over, Welcome{ID: peer.Machine.ID, Name: peer.Machine.Name, Version: h.version,
		Speaks: Speaks}); err != nil {
		return nil, err
	}
	return peer, lift()
}

// admit finds the machine of a key, or creates one from its token.
func (h *Hub) admit(ctx context.Context, key ed25519.PublicKey, say hello) (m machines.Machine, joined bool, err error) {
	m, err = h.registry.Find(key)
	skew := checkSkew(side{"this machine", say.Report.Clean().Version, say.Speaks}, side{"the hub", h.version, Speaks})
	if skew != nil { // before the token is used up
		h.registry.Refuse(m.ID, say.Report, skew)
		return m, false, skew
	}
	if err == nil || len(say.Secret) == 0 { // a machine that joined but missed the answer may still send its token
		return m, false, err
	}
	var secret [machines.SecretBytes]byte
	if len(say.Secret) != len(secret) {
		return m, false, machines.ErrWrongToken
	}
	copy(secret[:], say.Secret)
	m, err = h.redeem(ctx, secret, say.Name, key)
	return m, err == nil, err
}

// words returns the text of an error for the machine. It hides what only the hub should know.
func words(err error) string {
	_, skew := errors.AsType[*SkewError](err)
	if skew || isFinal(err) {
		return err.Error()
	}
	return "the hub cannot take this computer in at the moment. Try again"
}

// isFinal reports whether a retry is useless.
func isFinal(err error) bool {
	return errors.Is(err, machines.ErrUnknown) || errors.Is(err, machines.ErrWrongToken) || machines.IsRefused(err)
}
