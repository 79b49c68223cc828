package secret

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/redact"
)

// Documents stores documents; each write is durable on return.
type Documents interface {
	Put(ctx context.Context, bucket, key string, v []byte) error
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

const bucket = "secret"

// Limits of named secrets.
const (
	mostNamed  = 200      // per person
	mostValue  = 32 << 10 // bytes of a value
	mostGrants = 100      // sessions and directories per secret
)

// Named is a person's secret, without its value.
type Named struct {
	Name     string    `json:"name"`  // also of the variable
	Owner    string    `json:"owner"` // principal
	File     bool      `json:"file,omitempty"`
	Sealed   string    `json:"sealed"`
	Sessions []string  `json:"sessions,omitempty"` // URIs of the sessions that get it
	Dirs     []string  `json:"dirs,omitempty"`     // sessions that work there or below get it
	Created  time.Time `json:"created"`
	Changed  time.Time `json:"changed"` // last change of its value

	Locked bool `json:"-"` // its key is missing
}

func (n *Named) label() Label { return Label{Kind: "secret", Owner: n.Owner, Name: n.Name} }

func (n *Named) key() string { return n.Owner + "/" + n.Name }

// Value is a secret of a session.
type Value struct {
	Name, Value string
	File        bool
}

// Refused is an error of a call without effect; its text is for the caller.
type Refused struct{ error }

// Refusef returns a Refused.
func Refusef(format string, args ...any) error { return Refused{fmt.Errorf(format, args...)} }

// IsRefused reports whether an error is a Refused.
func IsRefused(err error) bool {
	_, refused := errors.AsType[Refused](err)
	return refused
}

// ErrNone reports that the owner has no secret with this name.
var ErrNone error = Refused{errors.New("there is no secret of this name. It may have been removed")}

// Store keeps named secrets. Its methods may be called from any goroutine.
type Store struct {
	docs Documents
	keys *Keys
	now  func() time.Time

	writing sync.Mutex // held from reading to writing

	mu  sync.RWMutex
	all map[string]Named
}

// OpenStore reads the named secrets.
func OpenStore(ctx context.Context, docs Documents, keys *Keys) (*Store, error) {
	s := &Store{docs: docs, keys: keys, now: time.Now, all: map[string]Named{}}
	return s, docs.Each(ctx, bucket, func(key string, raw []byte) error {
		var n Named
		if err := json.Unmarshal(raw, &n); err != nil || n.key() != key {
			return fmt.Errorf("a secret cannot be read: %w", ErrDamaged)
		}
		s.all[key] = n
		return nil
	})
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// taken matches variables that affect how programs run or what they find: a secret in one would
// control programs.
var taken = regexp.MustCompile(`^(PATH|HOME|SHELL|USER|LOGNAME|PWD|TERM|TMPDIR|IFS|ENV|BASH_ENV|PROMPT_COMMAND|PS[0-9]|` +
	`LD_.*|DYLD_.*|AHPHUB_.*|GIT_.*|NODE_OPTIONS|PYTHON(PATH|STARTUP|HOME)|PERL5(LIB|OPT)|RUBYOPT)$`)

// CheckName refuses an invalid name of a secret.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		return Refusef("a name has letters, digits and _, begins with no digit, and has at most 64 characters, as in GITHUB_TOKEN")
	case taken.MatchString(strings.ToUpper(name)):
		return Refusef("%s has a meaning to programs. Choose another name", name)
	}
	return nil
}

// CheckValue refuses an invalid value. The error does not quote it.
func CheckValue(value string, file bool) error {
	switch n := len(value); {
	case len(strings.TrimSpace(value)) < redact.Least:
		return Refusef("a value needs at least %d characters. Shorter ones can't be hidden in output", redact.Least)
	case n > mostValue:
		return Refusef("a value has at most %d KB", mostValue>>10)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return Refusef("a value is text. Encode binary data first, for example in base64")
	case !file && strings.ContainsAny(value, "\r\n"):
		return Refusef("a value of several lines needs to be provided as a file")
	}
	return nil
}

// Put stores a secret of an owner, or its new value. Its grants do not change.
func (s *Store) Put(ctx context.Context, owner, name, value string, file bool) error {
	if !file {
		value = strings.TrimRight(value, "\r\n")
	}
	if err := cmp.Or(CheckName(name), CheckValue(value, file)); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	n, err := s.find(owner, name)
	now := s.now().UTC()
	if errors.Is(err, ErrNone) {
		if len(s.List(owner)) >= mostNamed {
			return Refusef("there are already %d secrets. Remove one first", mostNamed)
		}
		n = Named{Name: name, Owner: owner, Created: now}
	}
	n.File, n.Changed = file, now
	n.Sealed = s.keys.Seal(n.label(), []byte(value))
	return s.put(ctx, n)
}

// Grant gives a secret to exactly these sessions, and to all that work in the directories or below.
func (s *Store) Grant(ctx context.Context, owner, name string, sessions, dirs []string) error {
	if len(sessions)+len(dirs) > mostGrants {
		return Refusef("a secret can be given to at most %d sessions and directories", mostGrants)
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || dir == string(filepath.Separator) {
			return Refusef("%.200q is no directory for a secret. Name one from the root on, as in /home/ana/src/app", dir)
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	n, err := s.find(owner, name)
	if err != nil {
		return err
	}
	n.Sessions, n.Dirs = unique(sessions), unique(dirs)
	return s.put(ctx, n)
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Remove deletes a secret.
func (s *Store) Remove(ctx context.Context, owner, name string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	n, err := s.find(owner, name)
	if err != nil {
		return err
	}
	if err := s.docs.Delete(ctx, bucket, n.key()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, n.key())
	return nil
}

func (s *Store) put(ctx context.Context, n Named) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := s.docs.Put(ctx, bucket, n.key(), raw); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[n.key()] = n
	return nil
}

func (s *Store) find(owner, name string) (Named, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.all[owner+"/"+name]
	if !ok || n.Owner != owner {
		return Named{}, ErrNone
	}
	return n, nil
}

// List returns an owner's secrets, sorted by name.
func (s *Store) List(owner string) []Named {
	list := s.filter(func(n *Named) bool { return n.Owner == owner })
	for i := range list {
		_, err := s.keys.Open(list[i].label(), list[i].Sealed)
		list[i].Locked = err != nil
	}
	return list
}

func (s *Store) filter(has func(*Named) bool) (list []Named) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(s.all)) {
		if n := s.all[key]; has(&n) {
			list = append(list, n)
		}
	}
	return list
}

// For returns the secrets of a session that works in directories. If several owners have a secret
// with the same name, it returns the oldest.
func (s *Store) For(session string, dirs []string) ([]Value, error) {
	list := s.filter(func(n *Named) bool { return n.isFor(session, dirs) })
	slices.SortStableFunc(list, func(a, b Named) int { return a.Created.Compare(b.Created) })
	var out []Value
	for _, n := range list {
		if slices.ContainsFunc(out, func(v Value) bool { return v.Name == n.Name }) {
			continue
		}
		value, err := s.keys.Open(n.label(), n.Sealed)
		if err != nil {
			return nil, fmt.Errorf("the secret %s of this session cannot be opened: %w. Its owner finds it in the settings, "+
				"under Secrets", n.Name, err)
		}
		out = append(out, Value{Name: n.Name, Value: string(value), File: n.File})
	}
	return out, nil
}

func (n *Named) isFor(session string, dirs []string) bool {
	return slices.Contains(n.Sessions, session) || slices.ContainsFunc(n.Dirs, func(root string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			rel, err := filepath.Rel(root, dir)
			return err == nil && filepath.IsLocal(rel)
		})
	})
}

// Reseal implements Sealer.
func (s *Store) Reseal(ctx context.Context) (changed, locked int, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, n := range s.filter(func(*Named) bool { return true }) {
		sealed, news, failed := s.keys.Reseal(n.label(), n.Sealed)
		switch {
		case IsLocked(failed), errors.Is(failed, ErrDamaged):
			locked++
		case failed != nil:
			err = errors.Join(err, failed)
		case news:
			n.Sealed = sealed
			err = errors.Join(err, s.put(ctx, n))
			changed++
		}
	}
	return changed, locked, err
}
