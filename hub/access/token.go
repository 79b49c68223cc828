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

// ErrWrongToken refuses a token nobody gave out, or that has been used, revoked or expired.
var ErrWrongToken = errors.New("this token is not valid, or not any more: ask for a new link")

// minToken is the shortest token an owner may choose.
const minToken = 16

// newToken returns n random bytes, spelled so that they fit into a URL.
func newToken(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Tokens tells who a bearer token belongs to: the owner, by the host's token or a personal one, a person by theirs, or the
// bearer of a link.
type Tokens struct {
	owner    [sha256.Size]byte
	chosen   bool // the owner's token was chosen by a person
	name     string
	links    *Links
	personal *Personal
	persons  Persons
}

// Persons tells who somebody with an account is now; a Principal that is not Known is nobody any more.
type Persons func(ctx context.Context, id string) (Principal, error)

// Of says who people with an account are. Call it before anybody asks.
func (t *Tokens) Of(p Persons) { t.persons = p }

// NewTokens knows the owner's token, those of the links and the personal ones; nil knows none of these.
func NewTokens(owner OwnerSecret, ownerName string, links *Links, personal *Personal) *Tokens {
	return &Tokens{owner: sha256.Sum256([]byte(owner.Token)), chosen: owner.Chosen, name: ownerName, links: links, personal: personal}
}

// Bind returns a context that ends once what p came by is no more: their link, or their personal token. Call cancel when done.
func (t *Tokens) Bind(ctx context.Context, p Principal) (context.Context, context.CancelFunc) {
	if p.Token != "" && t.personal != nil {
		return t.personal.bind(ctx, p.Token)
	}
	if t.links == nil {
		return context.WithCancel(ctx)
	}
	return t.links.Bind(ctx, p)
}

// Chosen reports whether a person chose the owner's token, so that callers have to limit how often CheckChosen is asked.
func (t *Tokens) Chosen() bool { return t.chosen }

// CheckChosen returns the owner when they chose this token, or ErrWrongToken.
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

// CheckGenerated returns who bears a token that the server generated, or ErrWrongToken. It takes the same time for every
// wrong one.
func (t *Tokens) CheckGenerated(ctx context.Context, token string) (Principal, error) {
	if owner := t.isOwner(token); owner && !t.chosen {
		return Owner(t.name), nil
	}
	if t.personal != nil && strings.HasPrefix(token, tokenPrefix) {
		kept, err := t.personal.check(token)
		if err != nil {
			return Principal{}, err
		}
		return t.bearer(ctx, kept)
	}
	if t.links == nil {
		return Principal{}, ErrWrongToken
	}
	return t.links.Bearer(token)
}

// bearer is whose personal token it is.
func (t *Tokens) bearer(ctx context.Context, kept Token) (p Principal, err error) {
	switch {
	case kept.Account == "":
		p = Owner(t.name)
	case t.persons != nil:
		p, err = t.persons(ctx, kept.Account)
	}
	if err == nil && !p.Known() {
		err = ErrWrongToken
	}
	p.Token = kept.ID
	return p, err
}

// OwnerSecret is the owner's token for AHP clients.
type OwnerSecret struct {
	Token  string
	Path   string // of the file that has it; "" for one given
	Chosen bool   // by a person, so that it may be weak
}

const ownerBytes = 32 // random ones of an owner's token that is generated

// OwnerToken returns the owner's token: the one given, the content of a file, or one that
// is generated and kept in the data directory, mode 0600.
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

// isGenerated reports whether a token has the form of those that newToken makes for owners: the file in the data
// directory may have been written by a person.
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
		return fmt.Errorf("the token of %s has %d characters: at least %d are needed", where, len(token), minToken)
	}
	return nil
}

// WriteSecret writes a file that only its owner reads, whole or not at all.
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
