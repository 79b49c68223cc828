package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrWrongToken refuses an unknown, used, revoked or expired token.
var ErrWrongToken = errors.New("this token is not valid or has expired. Ask for a new link")

// minToken is the shortest token an owner may choose.
const minToken = 16

// newToken returns n random bytes, encoded for URLs.
func newToken(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Tokens resolves bearer tokens: the owner's, by the host's token or a personal one, a person's
// personal token, or a link's.
type Tokens struct {
	owner    [sha256.Size]byte
	chosen   bool // a person chose the owner's token
	name     string
	links    *Links
	personal *Personal
	persons  Persons
}

// Persons returns the current principal of an account; the zero Principal when the account is gone.
type Persons func(ctx context.Context, id string) (Principal, error)

// SetPersons sets how accounts are resolved. Call it before the first request.
func (t *Tokens) SetPersons(p Persons) { t.persons = p }

// NewTokens returns a Tokens for the owner's token, those of links and personal ones; links and
// personal may be nil.
func NewTokens(owner OwnerSecret, ownerName string, links *Links, personal *Personal) *Tokens {
	return &Tokens{owner: sha256.Sum256([]byte(owner.Token)), chosen: owner.Chosen, name: ownerName, links: links,
		personal: personal}
}

// Bind returns a context that ends when p's link or personal token is revoked or expires. Call
// cancel when done.
func (t *Tokens) Bind(ctx context.Context, p Principal) (context.Context, context.CancelFunc) {
	if p.Token != "" && t.personal != nil {
		return t.personal.bind(ctx, p.Token)
	}
	if t.links == nil {
		return context.WithCancel(ctx)
	}
	return t.links.Bind(ctx, p)
}

// IsChosen reports whether a person chose the owner's token; then callers must rate-limit
// CheckChosen.
func (t *Tokens) IsChosen() bool { return t.chosen }

// CheckChosen returns the owner if token is the one they chose, or ErrWrongToken.
func (t *Tokens) CheckChosen(token string) (Principal, error) {
	if !t.chosen || !t.isOwner(token) {
		return Principal{}, ErrWrongToken
	}
	return Owner(t.name), nil
}

func (t *Tokens) isOwner(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], t.owner[:]) == 1
}

// CheckGenerated returns the bearer of a token that the server generated, or ErrWrongToken. It
// takes the same time for every wrong token.
func (t *Tokens) CheckGenerated(ctx context.Context, token string) (Principal, error) {
	if owner := t.isOwner(token); owner && !t.chosen {
		return Owner(t.name), nil
	}
	if t.personal != nil && strings.HasPrefix(token, tokenPrefix) {
		kept, err := t.personal.check(token)
		if err != nil {
			return Principal{}, err
		}
		return t.personalPrincipal(ctx, kept)
	}
	if t.links == nil {
		return Principal{}, ErrWrongToken
	}
	return t.links.Bearer(token)
}

// personalPrincipal returns the principal that a personal token belongs to.
func (t *Tokens) personalPrincipal(ctx context.Context, kept Token) (p Principal, err error) {
	switch {
	case kept.Account == "":
		p = Owner(t.name)
	case t.persons != nil:
		p, err = t.persons(ctx, kept.Account)
	}
	if err == nil && !p.IsKnown() {
		err = ErrWrongToken
	}
	p.Token = kept.ID
	return p, err
}

// OwnerSecret is the owner's token for AHP clients.
type OwnerSecret struct {
	Token  string
	Path   string // file that contains it; "" for a token given directly
	Chosen bool   // by a person, so it may be weak
}

const ownerBytes = 32 // random bytes in a generated token of the owner

// OwnerToken returns the owner's token: the one given, the content of a file, or one that is
// generated and stored in the data directory with mode 0600.
func OwnerToken(given, file, dir string) (OwnerSecret, error) {
	if given != "" {
		return OwnerSecret{Token: given, Chosen: true}, checkToken(given, "AHPHUB_TOKEN")
	}
	if file != "" {
		token, err := readToken(file)
		return OwnerSecret{Token: token, Path: file, Chosen: true}, err
	}
	path := filepath.Join(dir, "token")
	token, err := readToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		token = newToken(ownerBytes)
		err = WriteSecret(path, []byte(token+"\n"))
	}
	return OwnerSecret{Token: token, Path: path, Chosen: !isGenerated(token)}, err
}

// isGenerated reports whether a token has the form newToken gives the owner's: a person may have
// written the file in the data directory.
func isGenerated(token string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return err == nil && len(b) == ownerBytes
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(b))
	return token, checkToken(token, path)
}

func checkToken(token, where string) error {
	if len(token) < minToken {
		return fmt.Errorf("the token of %s has %d characters. Use at least %d", where, len(token), minToken)
	}
	return nil
}

// WriteSecret writes a file that only its owner can read, atomically.
func WriteSecret(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
