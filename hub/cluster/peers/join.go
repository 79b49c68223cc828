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
	tokenPrefix  = "ahc1." // lets people and secret scanners recognize a token
	secretBytes  = 16
	mostRequest  = 16 << 10
	mostReply    = 256 << 10
	joinTime     = 20 * time.Second // the leader writes to the log meanwhile
	readJoinTime = handshakeTime
)

// ErrWrongCluster is the error of a node that joins where its token is not from.
var ErrWrongCluster = errors.New("this is not the cluster that the token is from: its authority is another one. " +
	"Check the address, or create a new token")

// Invite is what a token says: a secret, the hash of the authority, and where a node is.
type Invite struct {
	Secret    [secretBytes]byte
	Authority [sha256.Size]byte
	Address   string
}

// String returns the text of a token, as people paste it.
func (i Invite) String() string {
	b := append(append(i.Secret[:], i.Authority[:]...), i.Address...)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// ParseInvite reads the text of a token. No error quotes it.
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
		return Invite{}, errors.New("this is not a token to join a cluster. Copy the whole line that ahphub cluster token prints")
	}
	return i, nil
}

// JoinRequest is what a node that joins sends.
type JoinRequest struct {
	Secret  []byte `json:"secret"`
	Name    string `json:"name"`
	Address string `json:"address"`
	Request []byte `json:"request"` // for a certificate
	Reads   bool   `json:"reads,omitempty"`
}

// JoinReply is the answer to it.
type JoinReply struct {
	Cluster     string   `json:"cluster"`
	Incarnation string   `json:"incarnation"`
	Certificate []byte   `json:"certificate"`
	Members     []Member `json:"members"`
	Keys        []byte   `json:"keys,omitempty"` // the file of keys of secrets; none when the owner distributes it
	Refused     string   `json:"refused,omitempty"`
}

// Refused is the error of a call that did nothing; its text is for the person who asked.
type Refused struct{ error }

func refusef(format string, args ...any) error { return Refused{fmt.Errorf(format, args...)} }

// Refuse returns an error that says that nothing was done, and why.
func Refuse(err error) error { return Refused{err} }

// IsRefused reports whether an error says that nothing was done, and why.
func IsRefused(err error) bool {
	_, refused := errors.AsType[Refused](err)
	return refused
}

// answerJoin answers one node that joins.
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
	err := errors.New("this node does not know who leads the cluster. Try again in a few seconds")
	if join != nil {
		reply, err = join(ctx, r)
	}
	if err != nil {
		reply = JoinReply{Refused: err.Error()}
	}
	_ = json.NewEncoder(c).Encode(reply)
	_ = c.(*tls.Conn).CloseWrite()
}

// Join makes a data directory a node of the cluster that a token is from. KeysFile is written there if the cluster hands
// the keys of secrets over. The token's secret is sent only to a node whose authority has the token's hash.
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
	if _, err := n.pair(key.Seed(), [][]byte{reply.Certificate}); err != nil {
		return fmt.Errorf("the cluster's answer cannot be used: %w", err)
	}
	if len(reply.Keys) > 0 {
		if err := placeKeys(filepath.Join(data, keysFile), reply.Keys); err != nil {
			return err
		}
	}
	return create(data, saved{reply.Cluster, name, address, reply.Incarnation, ca.Raw, [][]byte{reply.Certificate}, key.Seed()},
		reply.Members, nil)
}

// placeKeys writes the file of keys, unless another one is there.
func placeKeys(path string, keys []byte) error {
	have, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(have, keys) {
		return fmt.Errorf("%s has other keys than the cluster. Remove this node from the cluster, move the file away and "+
			"join with a new token", path)
	}
	if err == nil {
		return nil
	}
	return access.WriteSecret(path, keys)
}

// ask sends a request to join, once the other side has proved to be of the token's cluster.
func ask(ctx context.Context, invite Invite, r JoinRequest) (ca *x509.Certificate, reply JoinReply, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", invite.Address)
	if err != nil {
		return nil, reply, fmt.Errorf("the node that created the token cannot be reached: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var cluster string
	t := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{protocolJoin},
		InsecureSkipVerify: true, // VerifyConnection does it, by the token's hash
		VerifyConnection: func(state tls.ConnectionState) error {
			for _, c := range state.PeerCertificates {
				if hashAuthority(c) == invite.Authority {
					ca = c
				}
			}
			if ca == nil {
				return ErrWrongCluster
			}
			who, err := identityOf(state.PeerCertificates[0])
			if err == nil {
				cluster = who.cluster
				_, err = verify(ca, cluster, state.PeerCertificates, time.Now())
			}
			return err
		}})
	if err := t.HandshakeContext(ctx); err != nil {
		if ca == nil && errors.Is(err, ErrWrongCluster) {
			return nil, reply, ErrWrongCluster
		}
		return nil, reply, fmt.Errorf("the node at %s did not prove that it is of the token's cluster: %w", invite.Address, err)
	}
	if err := json.NewEncoder(t).Encode(r); err != nil {
		return nil, reply, fmt.Errorf("the connection was lost: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(t, mostReply)).Decode(&reply); err != nil {
		return nil, reply, fmt.Errorf("the node gave no answer. Look at ahphub cluster status there: if %s is listed, remove it "+
			"and join with a new token: %w", r.Name, err)
	}
	if reply.Refused != "" {
		return nil, reply, Refused{errors.New(reply.Refused)}
	}
	if reply.Cluster != cluster {
		return nil, reply, ErrWrongCluster
	}
	return ca, reply, nil
}
