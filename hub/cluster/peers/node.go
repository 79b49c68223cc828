package peers

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/access"
)

const (
	directory    = "cluster" // in the data directory
	nodeFile     = "node.json"
	membersFile  = "members.json"
	authorityKey = "authority.key" // until it is in the log
)

// ErrNoCluster is returned for a data directory that does not belong to a node.
var ErrNoCluster = errors.New("this data directory does not belong to a cluster")

// nodeConfig is the node's file. Key and certificate are in one file, so they change together.
type nodeConfig struct {
	Cluster     string   `json:"cluster"`
	Name        string   `json:"name"`
	Address     string   `json:"address"`
	Incarnation string   `json:"incarnation"`
	Authority   []byte   `json:"authority"`   // certificate
	Certificate [][]byte `json:"certificate"` // of the node, without the authority's
	Seed        []byte   `json:"seed"`        // of the node's key
}

// Node is this node's identity and its connections to other nodes.
type Node struct {
	dir     string
	id      identity
	address string
	ca      *x509.Certificate
	now     func() time.Time

	saving  sync.Mutex // held during writes of files
	unsaved bool       // the file of members is older than the members

	mu      sync.Mutex
	cert    *tls.Certificate
	members map[string]Member
	open    map[*conn]struct{} // incoming and outgoing
}

// Dir returns the directory of a node's cluster files in a data directory.
func Dir(data string) string { return filepath.Join(data, directory) }

// IsNode reports whether a data directory belongs to a node of a cluster.
func IsNode(data string) bool {
	_, err := os.Lstat(filepath.Join(Dir(data), nodeFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// Bootstrap creates a cluster with a data directory as its first node. The authority's key is in a
// file until an Authority has written it to the log.
func Bootstrap(data, name, address string) error { return bootstrap(data, name, address, time.Now()) }

func bootstrap(data, name, address string, now time.Time) error {
	if err := errors.Join(CheckName(name), CheckAddress(address), prepare(data)); err != nil {
		return err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	who := identity{randomID(), name, randomID()}
	caDER, err := newAuthority(who.cluster, key, now)
	if err != nil {
		return err
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		return err
	}
	nodeKey, _, err := newRequest()
	if err != nil {
		return err
	}
	der, err := sign(ca, key, nodeKey.Public().(ed25519.PublicKey), who, now)
	if err != nil {
		return err
	}
	first := Member{Name: name, Address: address, Incarnation: who.incarnation, Joined: now.UTC()}
	s := nodeConfig{who.cluster, name, address, who.incarnation, caDER, [][]byte{der}, nodeKey.Seed()}
	return create(data, s, []Member{first}, key)
}

func randomID() string {
	b := make([]byte, 12)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// prepare creates the directory of a new node.
func prepare(data string) error {
	if IsNode(data) {
		return fmt.Errorf("%s already belongs to a node of a cluster", data)
	}
	return os.MkdirAll(Dir(data), 0o700)
}

// create writes the files of a new node. Last is the file that makes the directory a node's.
func create(data string, s nodeConfig, members []Member, authority ed25519.PrivateKey) error {
	dir := Dir(data)
	if authority != nil {
		if err := access.WriteSecret(filepath.Join(dir, authorityKey), authority.Seed()); err != nil {
			return err
		}
	}
	return errors.Join(writeJSON(filepath.Join(dir, membersFile), members), writeJSON(filepath.Join(dir, nodeFile), s))
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := access.WriteSecret(path, b); err != nil {
		return fmt.Errorf("cannot write a file of the cluster: %w", err)
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readJSON reads a JSON file and refuses it if other users may read it.
func readJSON(path string, v any) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users can read %s and could impersonate this node. Run chmod 600 on it", path)
	}
	b, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(b, v) != nil {
		err = fmt.Errorf("%s is damaged. Restore it from a backup, or remove this node and join again", path)
	}
	return err
}

// Open opens the node of a data directory.
func Open(data string) (*Node, error) { return open(data, time.Now) }

func open(data string, now func() time.Time) (*Node, error) {
	var s nodeConfig
	var members []Member
	err := readJSON(filepath.Join(Dir(data), nodeFile), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCluster
	}
	if err == nil {
		err = readJSON(filepath.Join(Dir(data), membersFile), &members)
	}
	if err != nil {
		return nil, err
	}
	n := &Node{dir: Dir(data), id: identity{s.Cluster, s.Name, s.Incarnation}, address: s.Address, now: now,
		members: map[string]Member{}, open: map[*conn]struct{}{}}
	if n.ca, err = x509.ParseCertificate(s.Authority); err == nil {
		n.cert, err = n.parseCertificate(s.Seed, s.Certificate)
	}
	if err != nil {
		return nil, fmt.Errorf("this node's certificate is not valid: %w", err)
	}
	for _, m := range members {
		n.members[m.Name] = m
	}
	return n, nil
}

// parseCertificate returns a certificate with its key. It includes the authority's certificate for
// joining nodes, which know only its hash.
func (n *Node) parseCertificate(seed []byte, chain [][]byte) (*tls.Certificate, error) {
	if len(seed) != ed25519.SeedSize || len(chain) != 1 {
		return nil, errors.New("its file is damaged. Remove this node and join again")
	}
	key := ed25519.NewKeyFromSeed(seed)
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return nil, err
	}
	if public, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !bytes.Equal(public, key.Public().(ed25519.PublicKey)) {
		return nil, errors.New("it belongs to another key")
	}
	who, err := identityOf(leaf)
	if err == nil && who != n.id {
		err = errors.New("it belongs to another node")
	}
	if err == nil {
		err = leaf.CheckSignatureFrom(n.ca)
	}
	return &tls.Certificate{Certificate: [][]byte{chain[0], n.ca.Raw}, PrivateKey: key, Leaf: leaf}, err
}

// Name returns the node's name, which is also its ID in the log.
func (n *Node) Name() string { return n.id.name }

// Is reports whether m is this node, not a later node with the same name.
func (n *Node) Is(m Member) bool { return m.Name == n.id.name && m.Incarnation == n.id.incarnation }

// Cluster returns the cluster's ID.
func (n *Node) Cluster() string { return n.id.cluster }

// Address returns the address at which other nodes reach this node.
func (n *Node) Address() string { return n.address }

func (n *Node) certificate() *tls.Certificate {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cert
}

// Expires returns the expiry time of the node's certificate.
func (n *Node) Expires() time.Time { return n.certificate().Leaf.NotAfter }

// Members returns the known members, sorted by name.
func (n *Node) Members() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.members), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
}

// SetMembers sets the members from the log, saves them for the next start, and closes the
// connections of removed nodes.
func (n *Node) SetMembers(members []Member) error {
	n.saving.Lock()
	defer n.saving.Unlock()
	if !n.unsaved && slices.Equal(members, n.Members()) {
		return nil
	}
	n.mu.Lock()
	n.members = map[string]Member{}
	for _, m := range members {
		n.members[m.Name] = m
	}
	var gone []*conn
	for c := range n.open {
		if m, ok := n.members[c.member.Name]; c.member.Name != "" && (!ok || m.Incarnation != c.member.Incarnation) {
			gone = append(gone, c)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		c.Close()
	}
	err := writeJSON(filepath.Join(n.dir, membersFile), members)
	n.unsaved = err != nil
	return err
}

// Renew replaces the node's key and certificate. ask sends a certificate request to the leader.
func (n *Node) Renew(ctx context.Context, ask func(ctx context.Context, request []byte) ([]byte, error)) error {
	key, request, err := newRequest()
	if err != nil {
		return err
	}
	der, err := ask(ctx, request)
	if err != nil {
		return fmt.Errorf("the leader did not renew the certificate: %w", err)
	}
	cert, err := n.parseCertificate(key.Seed(), [][]byte{der})
	if err != nil {
		return fmt.Errorf("the renewed certificate is not valid: %w", err)
	}
	n.saving.Lock()
	defer n.saving.Unlock()
	s := nodeConfig{n.id.cluster, n.id.name, n.address, n.id.incarnation, n.ca.Raw, [][]byte{der}, key.Seed()}
	if err := writeJSON(filepath.Join(n.dir, nodeFile), s); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cert = cert
	return nil
}

// KeepFresh renews the certificate before it expires, until ctx is canceled. It reports failed
// attempts to failed and retries after an hour.
func (n *Node) KeepFresh(ctx context.Context, ask func(ctx context.Context, request []byte) ([]byte, error),
	failed func(error)) {
	for {
		if n.isDue() {
			if err := n.Renew(ctx, ask); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return
		}
	}
}

// isDue reports whether the certificate is due for renewal.
func (n *Node) isDue() bool { return !n.now().Before(n.Expires().Add(-renewBefore)) }
