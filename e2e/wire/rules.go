package wire

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/e2e/spec"
)

// rules are what a connection's version allows.
type rules struct {
	version string
	known   *spec.Schema // the definitions there are
	shape   *spec.Schema // what their values look like

	mu   sync.Mutex
	seen map[uint64]bool // hashes of notifications found valid: many clients are sent the same
}

var (
	rulesMu  sync.Mutex
	rulebook = map[string]*rules{}
)

// rulesFor returns the rules of a version. From 0.9 on, newer fields and values are sent in messages that the version
// has, as its clients ignore what they do not know; messages that it does not have are not.
func rulesFor(version string) (*rules, error) {
	rulesMu.Lock()
	defer rulesMu.Unlock()
	if r := rulebook[version]; r != nil {
		return r, nil
	}
	known, err := spec.For(version)
	if err != nil {
		return nil, err
	}
	shape := known
	if strings.HasPrefix(version, "0.9.") || strings.HasPrefix(version, "0.10.") {
		if shape, err = spec.For("1.0.0"); err != nil {
			return nil, err
		}
	}
	r := &rules{version: version, known: known, shape: shape, seen: map[uint64]bool{}}
	rulebook[version] = r
	return r, nil
}

// has reports whether the version knows a definition.
func (r *rules) has(def string) bool { return r.known.Has(def) }

// check validates a value against a definition; one the version does not know is an error.
func (r *rules) check(def string, raw []byte) error {
	if !r.has(def) {
		return fmt.Errorf("%s has no %s", r.version, def)
	}
	return r.shape.Validate(def, raw)
}

var seed = maphash.MakeSeed()

// once skips what was found valid before; the newest few thousand are remembered.
func (r *rules) once(raw []byte, check func() error) error {
	sum := maphash.Bytes(seed, raw)
	r.mu.Lock()
	seen := r.seen[sum]
	r.mu.Unlock()
	if seen {
		return nil
	}
	err := check()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) > 4096 {
		clear(r.seen)
	}
	r.seen[sum] = err == nil
	return err
}
