package peers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MemberBucket has the members by name.
	MemberBucket = "cluster-member"
	tokenBucket  = "cluster-token"
	keyBucket    = "cluster-authority"

	mostTokens   = 20
	longestToken = 24 * time.Hour
)

// Buckets returns the buckets that define which nodes belong to the cluster.
func Buckets() []string { return []string{MemberBucket, tokenBucket, keyBucket} }

// ErrWrongToken is returned for an unknown, used or expired token.
var ErrWrongToken = Refused{errors.New("this token is not valid: it was used or has expired. " +
	"To create a new one, run ahphub cluster token")}

// Reader reads documents.
type Reader interface {
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Documents stores documents; each write is durable on a quorum when it returns.
type Documents interface {
	Reader
	Put(ctx context.Context, bucket, key string, value []byte) error
	Delete(ctx context.Context, bucket, key string) error
}

// Sealing encrypts the authority's key.
type Sealing interface {
	Seal(value []byte) string
	Open(sealed string) ([]byte, error)
	// Reseal encrypts with the newest key; changed is false if it already was.
	Reseal(sealed string) (again string, changed bool, err error)
}

// AuthorityConfig configures an Authority.
type AuthorityConfig struct {
	Node *Node
	Docs Documents
	Seal Sealing
	Keys func() ([]byte, error) // reads the key file for joining nodes; nil if the owner distributes it
}

// Authority signs nodes' certificates. The leader opens one for its term.
type Authority struct {
	cfg AuthorityConfig

	mu  sync.Mutex // held during changes of documents
	key ed25519.PrivateKey
}

// tokenDoc is a stored token. Its key is the hash of the secret.
type tokenDoc struct {
	Expires time.Time `json:"expires"`
}

// OpenAuthority reads the authority's key. The first leader of a cluster writes the key, and itself
// as a member, to the documents.
func OpenAuthority(ctx context.Context, cfg AuthorityConfig) (*Authority, error) {
	a := &Authority{cfg: cfg}
	var sealed string
	if err := cfg.Docs.Each(ctx, keyBucket, func(_ string, value []byte) error {
		sealed = string(value)
		return nil
	}); err != nil {
		return nil, err
	}
	file := filepath.Join(cfg.Node.dir, authorityKey)
	var seed []byte
	var err error
	if sealed == "" {
		if seed, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("cannot read the key of the cluster's authority: %w", err)
		}
		for _, m := range cfg.Node.Members() { // before the key, so documents with the key have the members
			if err := putMember(ctx, cfg.Docs, m); err != nil {
				return nil, err
			}
		}
		err = cfg.Docs.Put(ctx, keyBucket, "key", []byte(cfg.Seal.Seal(seed)))
	} else {
		seed, err = cfg.Seal.Open(sealed)
	}
	if err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, errors.New("the key of the cluster's authority is damaged")
	}
	if a.key = ed25519.NewKeyFromSeed(seed); !a.key.Public().(ed25519.PublicKey).Equal(cfg.Node.ca.PublicKey) {
		return nil, errors.New("the key of the cluster's authority is not the one that signed this node's certificate")
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return a, a.reload(ctx)
}

// ReadMembers returns the members in the documents; none until the first leader has written them.
func ReadMembers(ctx context.Context, docs Reader) (members []Member, err error) {
	err = docs.Each(ctx, MemberBucket, func(_ string, value []byte) error {
		m, err := decodeMember(value)
		members = append(members, m)
		return err
	})
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members, err
}

func putMember(ctx context.Context, docs Documents, m Member) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return docs.Put(ctx, MemberBucket, m.Name, value)
}

// reload updates the node's members from the documents.
func (a *Authority) reload(ctx context.Context) error {
	members, err := ReadMembers(ctx, a.cfg.Docs)
	if err != nil {
		return err
	}
	return a.cfg.Node.SetMembers(members)
}

func hashSecret(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

// Token creates a token that lets one node join within ttl. Its secret is not stored.
func (a *Authority) Token(ctx context.Context, ttl time.Duration) (string, error) {
	if ttl <= 0 || ttl > longestToken {
		return "", refusef("a token can be valid for at most %v", longestToken)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now, live := a.cfg.Node.now(), 0
	var old []string
	if err := a.cfg.Docs.Each(ctx, tokenBucket, func(hash string, value []byte) error {
		var t tokenDoc
		if json.Unmarshal(value, &t) != nil || !t.Expires.After(now) {
			old = append(old, hash)
		} else {
			live++
		}
		return nil
	}); err != nil {
		return "", err
	}
	for _, hash := range old {
		if err := a.cfg.Docs.Delete(ctx, tokenBucket, hash); err != nil {
			return "", err
		}
	}
	if live >= mostTokens {
		return "", refusef("there are already %d unused tokens. They expire within a day", mostTokens)
	}
	i := Invite{Authority: hashAuthority(a.cfg.Node.ca), Address: a.cfg.Node.address}
	rand.Read(i.Secret[:])
	value, err := json.Marshal(tokenDoc{now.Add(ttl).UTC()})
	if err != nil {
		return "", err
	}
	return i.String(), a.cfg.Docs.Put(ctx, tokenBucket, hashSecret(i.Secret[:]), value)
}

// CheckToken returns ErrWrongToken unless secret is that of a valid token.
func (a *Authority) CheckToken(ctx context.Context, secret []byte) error {
	hash, valid := hashSecret(secret), false
	if err := a.cfg.Docs.Each(ctx, tokenBucket, func(have string, value []byte) error {
		var t tokenDoc
		valid = valid || have == hash && json.Unmarshal(value, &t) == nil && t.Expires.After(a.cfg.Node.now())
		return nil
	}); err != nil {
		return err
	}
	if !valid {
		return ErrWrongToken
	}
	return nil
}

// Join adds a node that presents a token. If the name or address is taken, the token stays valid.
func (a *Authority) Join(ctx context.Context, r JoinRequest) (JoinReply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.CheckToken(ctx, r.Secret); err != nil {
		return JoinReply{}, err
	}
	n := a.cfg.Node
	key, err := requestedKey(r.Request)
	if err := errors.Join(CheckName(r.Name), CheckAddress(r.Address), err); err != nil {
		return JoinReply{}, Refused{err}
	}
	members := n.Members()
	for _, m := range members {
		if m.Name == r.Name || m.Address == r.Address {
			return JoinReply{}, refusef("the cluster already has the node %s at %s. Remove it first, "+
				"or choose another name and address", m.Name, m.Address)
		}
	}
	if len(members) >= mostMembers {
		return JoinReply{}, refusef("a cluster has at most %d nodes. Remove one first", mostMembers)
	}
	m := Member{Name: r.Name, Address: r.Address, Incarnation: randomID(), Joined: n.now().UTC(), Reads: r.Reads}
	reply := JoinReply{Cluster: n.id.cluster, Incarnation: m.Incarnation}
	who := identity{n.id.cluster, m.Name, m.Incarnation}
	if reply.Certificate, err = sign(n.ca, a.key, key, who, n.now()); err != nil {
		return JoinReply{}, err
	}
	if a.cfg.Keys != nil {
		if reply.Keys, err = a.cfg.Keys(); err != nil {
			return JoinReply{}, err
		}
	}
	if err := a.cfg.Docs.Delete(ctx, tokenBucket, hashSecret(r.Secret)); err != nil { // first: a crash in between costs only a token
		return JoinReply{}, err
	}
	if err := putMember(ctx, a.cfg.Docs, m); err != nil {
		return JoinReply{}, err
	}
	err = a.reload(ctx)
	reply.Members = n.Members()
	return reply, err
}

// Renew signs a new certificate for a member that its connection has authenticated.
func (a *Authority) Renew(m Member, request []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.ContainsFunc(a.cfg.Node.Members(), func(one Member) bool {
		return one.Name == m.Name && one.Incarnation == m.Incarnation
	}) {
		return nil, Refused{errNotMember}
	}
	key, err := requestedKey(request)
	if err != nil {
		return nil, Refused{err}
	}
	n := a.cfg.Node
	return sign(n.ca, a.key, key, identity{n.id.cluster, m.Name, m.Incarnation}, n.now())
}

// Remove removes a member: from then on, its certificate is refused.
func (a *Authority) Remove(ctx context.Context, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.cfg.Docs.Delete(ctx, MemberBucket, name); err != nil {
		return err
	}
	return a.reload(ctx)
}

// Reseal implements secret.Sealer: it encrypts the authority's key with the newest key of secrets.
func (a *Authority) Reseal(ctx context.Context) (changed, locked int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var again string
	err = a.cfg.Docs.Each(ctx, keyBucket, func(_ string, value []byte) (err error) {
		var is bool
		if again, is, err = a.cfg.Seal.Reseal(string(value)); is {
			changed = 1
		}
		return err
	})
	if err == nil && changed > 0 {
		err = a.cfg.Docs.Put(ctx, keyBucket, "key", []byte(again))
	}
	return changed, locked, err
}
