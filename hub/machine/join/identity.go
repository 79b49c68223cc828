package join

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Identity is what a machine stores about a hub: its own key and the hub's.
type Identity struct {
	Hub    string            `json:"hub"` // address
	HubKey ed25519.PublicKey `json:"hubKey"`
	Seed   []byte            `json:"seed"` // of the machine's key
	ID     string            `json:"id"`
	Name   string            `json:"name"`
}

// Key returns the machine's key.
func (i Identity) Key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(i.Seed) }

// IdentityFile returns the path in dir of the identity for a hub.
func IdentityFile(dir string, hub *url.URL) string {
	return filepath.Join(dir, strings.ReplaceAll(hub.Host, ":", "_")+".json")
}

// ReadIdentity reads an identity. It refuses a file that others can read, as they could impersonate the machine.
func ReadIdentity(path string) (Identity, error) {
	var i Identity
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return i, err
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return i, fmt.Errorf("%s can be read by others, who could pass for this machine. Run chmod 600 on it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return i, fmt.Errorf("the identity of this machine cannot be read: %w", err)
	}
	if json.Unmarshal(b, &i) != nil || len(i.Seed) != ed25519.SeedSize || len(i.HubKey) != ed25519.PublicKeySize {
		return i, fmt.Errorf("%s is damaged. Delete it, revoke the machine on the Machines page, and join with a new token", path)
	}
	return i, nil
}
