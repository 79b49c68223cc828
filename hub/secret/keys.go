package secret

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/access"
)

// KeyFile is the name of the key file in a data directory.
const KeyFile = "secrets.key"

// mostKeyBytes limits the size of a key file.
const mostKeyBytes = 64 << 10

// Keys seal and open values. Its methods may be called from any goroutine.
type Keys struct {
	path string // of the file in the data directory; "" for other sources
	from string // their source, for display

	rotating sync.Mutex // held while keys change
	shared   bool       // other nodes have copies; guarded by rotating

	mu   sync.RWMutex
	list []key // the first one seals
}

// OpenKeys reads the keys of a data directory, or creates the first one.
func OpenKeys(dir string) (*Keys, error) {
	k := &Keys{path: filepath.Join(dir, KeyFile)}
	k.from = k.path
	list, err := readKeys(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		list = []key{randomKey()}
		err = k.write(list)
	}
	if err != nil {
		return nil, err
	}
	k.list = list
	return k, nil
}

// ReadKeys reads keys from the owner's file, which is never written.
func ReadKeys(path string) (*Keys, error) {
	list, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	return &Keys{from: path, list: list}, nil
}

func readKeys(path string) ([]key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the key of secrets cannot be read: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostKeyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the key of secrets cannot be read: %w", err)
	}
	list, err := parseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// parseKeys parses a key file. Errors never quote its content.
func parseKeys(raw []byte) (list []key, err error) {
	if len(raw) > mostKeyBytes {
		return nil, errors.New("this is not a file of keys: it is too long")
	}
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		bits, err := decodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("line %d is not a key. Write 32 random bytes in base64 or hex, one key a line, as "+
				"`openssl rand -base64 32` prints it", n)
		}
		k, err := newKey(bits)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(have key) bool { return have.id == k.id }) {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no key in it. Restore it from your copy, or move the file away to start with a new key")
	}
	return list, nil
}

func decodeKey(text string) ([]byte, error) {
	if len(text) == hex.EncodedLen(keyBytes) {
		return hex.DecodeString(text)
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if bits, err := enc.DecodeString(strings.TrimRight(text, "=")); err == nil && len(bits) == keyBytes {
			return bits, nil
		}
	}
	return nil, errors.New("this is not a key")
}

// write writes the key file; it is durable on return.
func (k *Keys) write(list []key) error {
	head := "# Keys of ahphub's secrets. Backups of the database open only with them: keep a copy elsewhere.\n"
	if err := access.WriteSecret(k.path, []byte(head+formatKeys(list))); err != nil {
		return fmt.Errorf("the key of secrets cannot be written: %w", err)
	}
	return syncDir(filepath.Dir(k.path))
}

// formatKeys returns the lines of a key file.
func formatKeys(list []key) string {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(base64.StdEncoding.EncodeToString(one.raw) + "\n")
	}
	return b.String()
}

// ID returns the id of the sealing key.
func (k *Keys) ID() string { return k.current().id }

// Source returns the source of the keys: the path of a file.
func (k *Keys) Source() string { return k.from }

// IsOwners reports whether only the owner can change the keys.
func (k *Keys) IsOwners() bool { return k.path == "" }

func (k *Keys) current() key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.list[0]
}

// Seal encrypts a value under a label.
func (k *Keys) Seal(l Label, value []byte) string {
	nonce := make([]byte, 24)
	rand.Read(nonce)
	return k.current().seal(l, nonce, value)
}

// Open decrypts the result of Seal, given the same label.
func (k *Keys) Open(l Label, sealed string) ([]byte, error) {
	id, body, ok := split(sealed)
	if !ok {
		return nil, ErrDamaged
	}
	k.mu.RLock()
	i := slices.IndexFunc(k.list, func(one key) bool { return one.id == id })
	var found key
	if i >= 0 {
		found = k.list[i]
	}
	k.mu.RUnlock()
	if i < 0 {
		return nil, &LockedError{id}
	}
	return found.open(l, body)
}

// IsCurrent reports whether a value is sealed with the newest key.
func (k *Keys) IsCurrent(sealed string) bool {
	id, _, ok := split(sealed)
	return ok && id == k.ID()
}

// Reseal returns a value sealed with the newest key; changed is false if it already was. It seals a
// plain value.
func (k *Keys) Reseal(l Label, value string) (sealed string, changed bool, err error) {
	if !IsSealed(value) {
		return k.Seal(l, []byte(value)), true, nil
	}
	if k.IsCurrent(value) {
		return value, false, nil
	}
	plain, err := k.Open(l, value)
	if err != nil {
		return value, false, err
	}
	return k.Seal(l, plain), true, nil
}

// Sealer stores sealed values. Reseal seals all of them with the newest key and returns once that
// is durable. It skips and counts values whose key is missing.
type Sealer interface {
	Reseal(ctx context.Context) (changed, locked int, err error)
}

// Rotate makes a new key, seals everything with it, and deletes the older keys. After a crash,
// Finish completes this.
func (k *Keys) Rotate(ctx context.Context, sealers ...Sealer) error {
	if k.path == "" {
		return Refusef("the key comes from %s, which ahphub does not change. Put a new key in its first line, keep the "+
			"old one below and restart ahphub. The log says when the old key can go", k.from)
	}
	k.rotating.Lock()
	defer k.rotating.Unlock()
	k.mu.RLock()
	list := append([]key{randomKey()}, k.list...)
	k.mu.RUnlock()
	if err := k.write(list); err != nil {
		return err
	}
	k.set(list)
	_, err := k.finish(ctx, sealers)
	return err
}

// Finish seals values that are plain or sealed with older keys, and deletes those keys if they are
// the data directory's. It returns the numbers of sealed and locked values.
func (k *Keys) Finish(ctx context.Context, sealers ...Sealer) (Progress, error) {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	return k.finish(ctx, sealers)
}

// Progress is the result of Finish.
type Progress struct {
	Sealed int // with the newest key
	Locked int // their keys are missing
	Spare  int // older keys in the owner's file that nothing needs any more
}

func (k *Keys) finish(ctx context.Context, sealers []Sealer) (p Progress, err error) {
	for _, s := range sealers {
		changed, locked, err := s.Reseal(ctx)
		p.Sealed, p.Locked = p.Sealed+changed, p.Locked+locked
		if err != nil {
			return p, err
		}
	}
	list := k.keys()
	switch {
	case len(list) == 1:
		return p, nil
	case k.path == "" || k.shared:
		p.Spare = len(list) - 1
		return p, nil
	}
	if err := k.write(list[:1]); err != nil {
		return p, err
	}
	k.set(list[:1])
	return p, nil
}

func (k *Keys) set(list []key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = list
}

// syncDir makes a rename in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
