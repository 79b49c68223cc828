package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/alexedwards/argon2id"

	"github.com/ahphub/ahphub/handlers/pages/people"
	"github.com/ahphub/ahphub/hub/access"
	accounts "github.com/ahphub/ahphub/hub/people"
)

// shelf is a store of documents in memory.
type shelf struct {
	mu   sync.Mutex
	docs map[[2]string][]byte
}

func (s *shelf) Put(_ context.Context, bucket, key string, v []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[[2]string{bucket, key}] = v
	return nil
}

func (s *shelf) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, found := s.docs[[2]string{bucket, key}]
	return v, found, nil
}

func (s *shelf) Delete(_ context.Context, bucket, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.docs, [2]string{bucket, key})
	return nil
}

func (s *shelf) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.docs {
		if k[0] == bucket {
			if err := visit(k[1], v); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestAccountPage(t *testing.T) {
	s := open(t)
	kept := &shelf{docs: map[[2]string][]byte{}}
	tokens, err := access.OpenPersonal(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	fast := &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	passwords := &accounts.Passwords{Store: kept, Params: fast}
	in := &signedIn{[]accounts.Browser{{Key: "k1", This: true}, {Key: "k2"}}}
	s.pages.People.Accounts = people.Accounts{Passwords: passwords, Passkeys: &accounts.Passkeys{Store: kept},
		Tokens: tokens}
	s.pages.People.Browsers = in
	form := func(path string, status int, pairs ...string) string {
		t.Helper()
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		res, err := s.web.PostForm(s.url+path, v)
		return s.body(path, res, err, status)
	}
	if page := s.get("/account"); strings.Contains(page, "Current password") ||
		!strings.Contains(page, "Passkeys need a hostname") {
		t.Error("the page of an account without anything is not as it should be")
	}
	form("/account/password", http.StatusUnprocessableEntity, "password", "short")
	form("/account/password", http.StatusSeeOther, "password", "correct horse battery")
	if len(in.list) != 1 || passwords.Check(t.Context(), "owner", "correct horse battery") != nil {
		t.Errorf("after setting it %d browsers are signed in", len(in.list))
	}
	if page := form("/account/password", http.StatusForbidden, "current", "wrong", "password",
		"another long one"); !strings.Contains(page, "Current password is incorrect") {
		t.Error("a wrong current password is not said")
	}
	form("/account/password", http.StatusSeeOther, "current", "correct horse battery", "remove", "yes")
	if has, _ := passwords.Has(t.Context(), "owner"); has {
		t.Error("the password was not removed")
	}

	form("/account/tokens", http.StatusBadRequest, "name", "x", "expires", "soon")
	form("/account/tokens", http.StatusUnprocessableEntity, "name", " ", "expires", "never")
	token := regexp.MustCompile(`ahp_[\w-]{43}`).FindString(form("/account/tokens", http.StatusOK, "name", "emacs-7",
		"expires", "168h"))
	if token == "" || strings.Contains(s.get("/account"), token) || !strings.Contains(s.get("/account"), "emacs-7") {
		t.Errorf("the token %q is not shown once", token)
	}
	form("/account/tokens/"+tokens.List("owner")[0].ID+"/revoke", http.StatusSeeOther)
	if len(tokens.List("owner")) != 0 || strings.Contains(s.get("/account"), "emacs-7") {
		t.Error("the token is not revoked")
	}
	form("/account/passkeys/begin", http.StatusBadRequest)
	res, err := s.web.Post(s.url+"/account/passkeys", "application/json",
		strings.NewReader(`{"name":"x","credential":{}}`))
	s.body("a passkey nobody made", res, err, http.StatusBadRequest)
}
