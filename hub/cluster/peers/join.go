package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

const (
	tokenPrefix  = "ahc1." // lets people and secret scanners recognize tokens
	secretBytes  = 16
	mostRequest  = 16 << 10
	mostReply    = 256 << 10
	joinTime     = 20 * time.Second // includes the leader's writes to the log
	readJoinTime = handshakeTime
)

// errWrongCluster is returned when a node joins a cluster that did not create its token.
var errWrongCluster = errors.New("this token is from another cluster. " +
	"Check the address, or create a new token")

// Invite is the content of a token: a secret, the hash of the authority, and a node's address.
type Invite struct {
	Secret    [secretBytes]byte
	Authority [sha256.Size]byte
	Address   string
}

// String returns the token's text.
func (i Invite) String() string {
	b := append(append(i.Secret[:], i.Authority[:]...), i.Address...)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// ParseInvite parses a token. Its errors never quote the token.
func ParseInvite(text string) (i Invite, err error) {
	raw, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	b, err := base64.RawURLEncoding.DecodeString(raw)
	if ok && err == nil && len(b) > secretBytes+sha256.Size {
		copy(i.Secret[:], b)
		copy(i.Authority[:], b[secretBytes:])
		i.Address = string(b[secretBytes+sha256.Size:])
		ok = CheckAddress(i.Address) == nil
	} else {
		ok = false
	}
	if !ok {
		return Invite{}, errors.New("this is not a token for joining a cluster. " +
			"Copy the whole line that ahphub cluster token prints")
	}
	return i, nil
}

// JoinRequest is the message of a joining node.
type JoinRequest struct {
	Secret  []byte `json:"secret"`
	Name    string `json:"name"`
	Address string `json:"address"`
	Request []byte `json:"request"` // certificate request
	Reads   bool   `json:"reads,omitempty"`
}

// JoinReply is the answer to a JoinRequest.
type JoinReply struct {
	Cluster     string   `json:"cluster"`
	Incarnation string   `json:"incarnation"`
	Certificate []byte   `json:"certificate"`
	Members     []Member `json:"members"`
	Keys        []byte   `json:"keys,omitempty"` // key file of secrets; empty if the owner distributes it
	Refused     string   `json:"refused,omitempty"`
}

// Refused is the error of a call that changed nothing. Its text is for the person who made the
// call.
type Refused struct{ error }

func refusef(format string, args ...any) error { return Refused{fmt.Errorf(format, args...)} }

// Refuse marks err as the reason why a call changed nothing.
func Refuse(err error) error { return Refused{err} }

// IsRefused reports whether err says why a call changed nothing.
func IsRefused(err error) bool {
	_, refused := errors.AsType[Refused](err)
	return refused
}

// errNotJoined hides other errors from joining nodes, which may be strangers: they can name nodes and
// their addresses.
var errNotJoined = errors.New("the cluster cannot add a node now. Try again in a few seconds. " +
	"If this error stays, run ahphub cluster status on the node that created the token")

// answerJoin handles the request of one joining node.
func (l *Listener) answerJoin(c net.Conn) {
	ctx, cancel := context.WithTimeout(l.ctx, joinTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	_ = c.SetReadDeadline(time.Now().Add(readJoinTime))
	var r JoinRequest
	d := json.NewDecoder(io.LimitReader(c, mostRequest))
	if d.Decode(&r) != nil {
		return
	}
	l.mu.Lock()
	join := l.join
	l.mu.Unlock()
	var reply JoinReply
	err := refusef("this node knows no leader. Try again in a few seconds")
	if join != nil {
		reply, err = join(ctx, r)
	}
	switch {
	case IsRefused(err):
		reply = JoinReply{Refused: err.Error()}
	case err != nil:
		reply = JoinReply{Refused: errNotJoined.Error()}
	}
	_ = json.NewEncoder(c).Encode(reply)
	_ = c.(*tls.Conn).CloseWrite()
}

// Join makes a data directory a node of the token's cluster. If the cluster sends the keys of
// secrets, Join writes them to keysFile. It sends the token's secret only to a node whose authority
// matches the token's hash.
func Join(ctx context.Context, token, data, name, address, keysFile string, reads bool) error {
	invite, err := ParseInvite(token)
	if err != nil {
		return err
	}
	if err := errors.Join(CheckName(name), CheckAddress(address), prepare(data)); err != nil {
		return err
	}
	key, request, err := newRequest()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*joinTime)
	defer cancel()
	ca, reply, err := ask(ctx, invite, JoinRequest{invite.Secret[:], name, address, request, reads})
	if err != nil {
		return err
	}
	n := &Node{id: identity{reply.Cluster, name, reply.Incarnation}, ca: ca}
	if _, err := n.parseCertificate(key.Seed(), [][]byte{reply.Certificate}); err != nil {
		return fmt.Errorf("the cluster's answer is not valid: %w", err)
	}
	if len(reply.Keys) > 0 {
		if err := placeKeys(filepath.Join(data, keysFile), reply.Keys); err != nil {
			return err
		}
	}
	s := nodeConfig{reply.Cluster, name, address, reply.Incarnation, ca.Raw, [][]byte{reply.Certificate}, key.Seed()}
	return create(data, s, reply.Members, nil)
}

// placeKeys writes the key file, unless a different one exists.
func placeKeys(path string, keys []byte) error {
	have, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(have, keys) {
		return fmt.Errorf("%s has different keys than the cluster. Remove this node from the cluster, "+
			"move the file away and join with a new token", path)
	}
	if err == nil {
		return nil
	}
	return access.WriteSecret(path, keys)
}

// ask sends a join request once the other side has proved that it belongs to the token's cluster.
func ask(ctx context.Context, invite Invite, r JoinRequest) (ca *x509.Certificate, reply JoinReply, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", invite.Address)
	if err != nil {
		return nil, reply, fmt.Errorf("cannot reach the node that created the token: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var cluster string
	t := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{protocolJoin},
		InsecureSkipVerify: true, // VerifyConnection checks the token's hash instead
		VerifyConnection: func(state tls.ConnectionState) error {
			for _, c := range state.PeerCertificates {
				if hashAuthority(c) == invite.Authority {
					ca = c
				}
			}
			if ca == nil {
				return errWrongCluster
			}
			who, err := identityOf(state.PeerCertificates[0])
			if err == nil {
				cluster = who.cluster
				_, err = verify(ca, cluster, state.PeerCertificates, time.Now())
			}
			return err
		}})
	if err := t.HandshakeContext(ctx); err != nil {
		if ca == nil && errors.Is(err, errWrongCluster) {
			return nil, reply, errWrongCluster
		}
		return nil, reply, fmt.Errorf("the node at %s did not prove that it belongs to the token's cluster: %w",
			invite.Address, err)
	}
	if err := json.NewEncoder(t).Encode(r); err != nil {
		return nil, reply, fmt.Errorf("the connection was lost: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(t, mostReply)).Decode(&reply); err != nil {
		return nil, reply, fmt.Errorf("the node did not answer. Run ahphub cluster status there: "+
			"if it lists %s, remove that node and join with a new token: %w", r.Name, err)
	}
	if reply.Refused != "" {
		return nil, reply, Refused{errors.New(reply.Refused)}
	}
	if reply.Cluster != cluster {
		return nil, reply, errWrongCluster
	}
	return ca, reply, nil
}
