package wire

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/e2e/spec"
)

// rules describes what a connection's version allows.
type rules struct {
	version string
	known   *spec.Schema // the existing definitions
	shape   *spec.Schema // the form of their values

	mu   sync.Mutex
	seen map[uint64]bool // hashes of valid notifications: many clients get the same ones
}

var (
	rulesMu  sync.Mutex
	rulebook = map[string]*rules{}
)

// rulesFor returns the rules of a version. From 0.9 on, existing messages may have newer fields and
// values, because clients ignore unknown ones; new messages are not allowed.
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

// has reports whether the version has a definition.
func (r *rules) has(def string) bool { return r.known.Has(def) }

// check validates a value against a definition; an unknown definition is an error.
func (r *rules) check(def string, raw []byte) error {
	if !r.has(def) {
		return fmt.Errorf("%s has no %s", r.version, def)
	}
	return r.shape.Validate(def, raw)
}

var seed = maphash.MakeSeed()

// once skips values found valid before; it forgets all of them after a few thousand.
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
