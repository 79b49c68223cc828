package machines

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/hub/ids"
)

const (
	machineBucket = "machine"
	seenBucket    = "machine-seen"
	tokenBucket   = "machine-token"
	keyBucket     = "machine-hub"

	mostMachines = 500
)

var (
	// ErrUnknown refuses a computer that is not, or no longer, a machine of the hub.
	ErrUnknown = errors.New("this computer is not a machine of this hub, or was revoked. Join it with a new token")
	// ErrRevoked ends the connection of a machine that was revoked.
	ErrRevoked = errors.New("this machine was revoked. To use it again, join it with a new token")
	// ErrReplaced ends the connection of a machine that opened a newer one.
	ErrReplaced = errors.New("this machine has a newer connection. Is ahphub join running twice on it?")
)

// Refused is the error of a call that did nothing; its text is for the caller.
type Refused struct{ error }

func refusef(format string, args ...any) error { return Refused{fmt.Errorf(format, args...)} }

// IsRefused reports whether an error is a Refused.
func IsRefused(err error) bool {
	_, refused := errors.AsType[Refused](err)
	return refused
}

// Documents stores documents; each write is durable on return.
type Documents interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

// Sealing seals the hub's key.
type Sealing interface {
	Seal(value []byte) string
	Open(sealed string) ([]byte, error)
	// Reseal seals with the newest key; changed is false if that key already sealed it.
	Reseal(sealed string) (again string, changed bool, err error)
}

// Config configures a registry.
type Config struct {
	Docs Documents
	Seal Sealing
	Now  func() time.Time // default: time.Now
}

// Machine is a computer that has joined.
type Machine struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Key      ed25519.PublicKey `json:"key"`
	By       string            `json:"by"` // principal whose token it joined with
	Joined   time.Time         `json:"joined"`
	Draining bool              `json:"draining,omitempty"` // it gets no new sessions
}

// Registry holds the machines in memory, and updates them after each durable write. Its methods are safe for concurrent
// use.
type Registry struct {
	cfg Config
	key ed25519.PrivateKey // the hub's

	writing sync.Mutex // held from reading to writing
	sealed  string     // the stored key; guarded by writing

	mu      sync.Mutex
	byID    map[string]*machine
	tokens  map[string]Token // by the hash of the token
	watches map[chan struct{}]bool
}

// machine is a Machine and its connection.
type machine struct {
	Machine
	seen  time.Time // stored end of its last connection
	conn  *connection
	count uint64 // connections since the hub's start
	used  uint64 // those that became ready

	refused string // why its last connection was refused

	received, sent atomic.Uint64 // bytes since the hub's start
}

// Open reads the stored machines, and creates the hub's key if there is none.
func Open(ctx context.Context, cfg Config) (*Registry, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{cfg: cfg, byID: map[string]*machine{}, tokens: map[string]Token{}, watches: map[chan struct{}]bool{}}
	if err := r.openKey(ctx); err != nil {
		return nil, err
	}
	for bucket, apply := range map[string]func(string, []byte) error{
		machineBucket: r.applyMachine, tokenBucket: r.applyToken} {
		if err := cfg.Docs.Each(ctx, bucket, apply); err != nil {
			return nil, err
		}
	}
	return r, cfg.Docs.Each(ctx, seenBucket, r.applySeen)
}

// openKey reads the hub's key, or creates it.
func (r *Registry) openKey(ctx context.Context) error {
	err := r.cfg.Docs.Each(ctx, keyBucket, func(_ string, sealed []byte) error {
		r.sealed = string(sealed)
		return nil
	})
	if err != nil {
		return err
	}
	if r.sealed == "" {
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed)
		if err := r.keepKey(ctx, r.cfg.Seal.Seal(seed)); err != nil {
			return err
		}
	}
	seed, err := r.cfg.Seal.Open(r.sealed)
	if err != nil {
		return fmt.Errorf("the hub's key for machines cannot be read: %w", err)
	}
	if len(seed) != ed25519.SeedSize {
		return errors.New("the hub's key for machines is damaged: restore a backup")
	}
	r.key = ed25519.NewKeyFromSeed(seed)
	return nil
}

// keepKey stores the hub's key, sealed.
func (r *Registry) keepKey(ctx context.Context, sealed string) error {
	err := r.cfg.Docs.Put(ctx, keyBucket, "key", []byte(sealed))
	if err == nil {
		r.sealed = sealed
	}
	return err
}

// Reseal seals the hub's key with the newest key of secrets.
func (r *Registry) Reseal(ctx context.Context) (changed, locked int, err error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	sealed, news, err := r.cfg.Seal.Reseal(r.sealed)
	if err != nil || !news {
		return 0, 0, err
	}
	return 1, 0, r.keepKey(ctx, sealed)
}

// Watch returns a channel that receives a value after changes, and a function that ends the watch.
func (r *Registry) Watch() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watches, c)
	}
}

// tell wakes every watcher.
func (r *Registry) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.watches {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Key returns the hub's own key.
func (r *Registry) Key() ed25519.PrivateKey { return r.key }

// applyMachine applies the record of a machine; without a value, the machine was removed.
func (r *Registry) applyMachine(id string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value == nil {
		if m := r.byID[id]; m != nil {
			m.disconnect(ErrRevoked)
			delete(r.byID, id)
		}
		return nil
	}
	var doc Machine
	if err := json.Unmarshal(value, &doc); err != nil || doc.ID != id || len(doc.Key) != ed25519.PublicKeySize {
		return fmt.Errorf("the machine %s cannot be read", id)
	}
	m := r.byID[id]
	if m == nil {
		m = &machine{}
		r.byID[id] = m
	}
	m.Machine = doc
	return nil
}

// applySeen applies the record of a machine's last connection.
func (r *Registry) applySeen(id string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil && value != nil {
		_ = m.seen.UnmarshalText(value) // unreadable: never
	}
	return nil
}

// keep stores a machine and applies it once it is durable.
func (r *Registry) keep(ctx context.Context, m Machine) error {
	value, err := json.Marshal(m)
	if err == nil {
		err = r.cfg.Docs.Put(ctx, machineBucket, m.ID, value)
	}
	if err == nil {
		err = r.applyMachine(m.ID, value)
	}
	if err == nil {
		r.tell()
	}
	return err
}

// Find returns the machine with a key, or ErrUnknown.
func (r *Registry) Find(key ed25519.PublicKey) (Machine, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.byID {
		if m.Key.Equal(key) {
			return m.Machine, nil
		}
	}
	return Machine{}, ErrUnknown
}

// List returns the machines with their status, sorted by name.
func (r *Registry) List() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Status, 0, len(r.byID))
	for _, m := range r.byID {
		list = append(list, m.status())
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Lookup returns a machine with its status, or false if there is none with this ID.
func (r *Registry) Lookup(id string) (Status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byID[id]
	if m == nil {
		return Status{}, false
	}
	return m.status(), true
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName refuses invalid names. A name is part of addresses, and of titles such as "opencode on box2".
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return refusef("a machine's name has lower-case letters, digits and hyphens, at most 40, and begins and ends with a " +
			"letter or digit, as in box2")
	}
	return nil
}

// isFree refuses a name of another machine.
func (r *Registry) isFree(name, but string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, m := range r.byID {
		if m.Name == name && id != but {
			return refusef("there is already a machine named %s. Choose another name", name)
		}
	}
	return nil
}

// change stores a machine modified by f.
func (r *Registry) change(ctx context.Context, id string, f func(*Machine) error) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	m, err := r.get(id)
	if err != nil {
		return err
	}
	if err := f(&m); err != nil {
		return err
	}
	return r.keep(ctx, m)
}

func (r *Registry) get(id string) (Machine, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil {
		return m.Machine, nil
	}
	return Machine{}, Refused{errors.New("there is no such machine. It may have been revoked")}
}

// Rename changes a machine's name.
func (r *Registry) Rename(ctx context.Context, id, name string) error {
	name = strings.TrimSpace(name)
	if err := CheckName(name); err != nil {
		return err
	}
	return r.change(ctx, id, func(m *Machine) error {
		m.Name = name
		return r.isFree(name, id)
	})
}

// SetDraining sets whether a machine gets no new sessions.
func (r *Registry) SetDraining(ctx context.Context, id string, draining bool) error {
	return r.change(ctx, id, func(m *Machine) error {
		m.Draining = draining
		return nil
	})
}

// Revoke removes a machine and ends its connection at once. Its key is no longer valid.
func (r *Registry) Revoke(ctx context.Context, id string) (Machine, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	m, err := r.get(id)
	if err != nil {
		return m, err
	}
	r.disconnect(id, ErrRevoked) // even if the disk fails
	if err := errors.Join(r.cfg.Docs.Delete(ctx, machineBucket, id), r.cfg.Docs.Delete(ctx, seenBucket, id)); err != nil {
		return m, err
	}
	err = r.applyMachine(id, nil)
	r.tell()
	return m, err
}

// add creates a machine with a key.
func (r *Registry) add(ctx context.Context, name, by string, key ed25519.PublicKey) (Machine, error) {
	m := Machine{ID: ids.New(), Name: name, Key: key, By: by, Joined: r.cfg.Now().UTC()}
	return m, r.keep(ctx, m)
}
