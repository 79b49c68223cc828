package access

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestBearerTokens(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	link, _, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	tokens := NewTokens(OwnerSecret{Token: "the owner's own secret"}, "Olu", links, nil)
	if p, err := tokens.CheckGenerated(t.Context(), "the owner's own secret"); err != nil || p.Role != RoleOwner ||
		p.Name != "Olu" {
		t.Errorf("the owner is %+v, %v", p, err)
	}
	if p, err := tokens.CheckGenerated(t.Context(), link); err != nil || p.Role != RoleViewer {
		t.Errorf("the link's bearer is %+v, %v", p, err)
	}
	for _, wrong := range []string{"", "the owner's own secre", link + "x"} {
		if p, err := tokens.CheckGenerated(t.Context(), wrong); !errors.Is(err, ErrWrongToken) || p.IsKnown() {
			t.Errorf("%q let in %+v, %v", wrong, p, err)
		}
	}
}

// A token that a person chose is refused where only generated ones are accepted.
func TestChosenTokenIsCheckedSeparately(t *testing.T) {
	links := open(t, &memory{docs: map[string][]byte{}})
	link, _, _ := links.New(t.Context(), Link{Session: mine, Role: RoleViewer})
	tokens := NewTokens(OwnerSecret{Token: "the owner's own secret", Chosen: true}, "Olu", links, nil)
	if p, err := tokens.CheckGenerated(t.Context(), "the owner's own secret"); !errors.Is(err, ErrWrongToken) ||
		p.IsKnown() {
		t.Errorf("it passes as a generated one: %+v, %v", p, err)
	}
	if p, err := tokens.CheckChosen("the owner's own secret"); err != nil || p.Role != RoleOwner {
		t.Errorf("the owner is %+v, %v", p, err)
	}
	if p, err := tokens.CheckChosen(link); !errors.Is(err, ErrWrongToken) || p.IsKnown() {
		t.Errorf("a link's token is %+v, %v", p, err)
	}
	if p, err := tokens.CheckGenerated(t.Context(), link); err != nil || p.Role != RoleViewer {
		t.Errorf("the link's bearer is %+v, %v", p, err)
	}
}

func TestOwnerToken(t *testing.T) {
	dir := t.TempDir()
	made, err := OwnerToken("", "", dir)
	if err != nil || len(made.Token) < 32 || made.Chosen {
		t.Fatalf("made %+v, %v", made, err)
	}
	info, err := os.Stat(made.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v: want mode 0600", info.Mode(), err)
	}
	if again, err := OwnerToken("", "", dir); err != nil || again != made {
		t.Errorf("the next start has another token: %v", err)
	}
	file := filepath.Join(dir, "mine")
	os.WriteFile(file, []byte("  a token of my own choice\n"), 0o600)
	if got, err := OwnerToken("", file, dir); err != nil ||
		got != (OwnerSecret{"a token of my own choice", file, true}) {
		t.Errorf("from a file: %+v, %v", got, err)
	}
	if got, err := OwnerToken("a token of my own choice", "", dir); err != nil ||
		got != (OwnerSecret{"a token of my own choice", "", true}) {
		t.Errorf("given: %+v, %v", got, err)
	}
	os.WriteFile(made.Path, []byte("a token of my own choice\n"), 0o600)
	if got, err := OwnerToken("", "", dir); err != nil || !got.Chosen {
		t.Errorf("written into the data directory: %+v, %v", got, err)
	}
	if _, err := OwnerToken("short", "", dir); err == nil {
		t.Error("a short token was taken")
	}
	if _, err := OwnerToken("", filepath.Join(dir, "absent"), dir); err == nil {
		t.Error("a token file that is not there was taken")
	}
}

func TestSignInWorksOnce(t *testing.T) {
	now := time.Now()
	s := SignIn{Dir: filepath.Join(t.TempDir(), "signin"), Now: func() time.Time { return now }}
	store := &memory{docs: map[string][]byte{}}
	redeem := func() *SignIns { // like a starting program
		t.Helper()
		in, err := OpenSignIns(t.Context(), store, s)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	token, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	in := redeem()
	var good, bad int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := in.Use(t.Context(), token)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				good++
			} else if errors.Is(err, ErrWrongToken) {
				bad++
			}
		})
	}
	wg.Wait()
	if good != 1 || bad != 7 {
		t.Errorf("%d signed in with one token, %d were refused", good, bad)
	}
	used := Issued{hashToken(token), now}
	if err := redeem().Import(t.Context(), []Issued{used}); err != nil { // repeated by a node that got no answer
		t.Error(err)
	}
	if err := redeem().Use(t.Context(), token); !errors.Is(err, ErrWrongToken) {
		t.Errorf("a used token was accepted after a restart: %v", err)
	}
	if err := in.Import(t.Context(), []Issued{{"../token", now}}); !errors.Is(err, ErrWrongToken) {
		t.Errorf("a file name was imported as a token: %v", err)
	}
	later, _ := s.New()
	if err := in.ImportOwn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > 0 {
		t.Errorf("%d files remain of imported tokens", len(entries))
	}
	if err := redeem().Use(t.Context(), later); err != nil {
		t.Errorf("an imported token was refused: %v", err)
	}
	old, _ := s.New()
	ahead, _ := s.New()
	// The node's clock is ahead.
	if err := in.Import(t.Context(), []Issued{{hashToken(ahead), now.Add(signInLife)}}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(signInLife + time.Minute)
	for _, token := range []string{old, ahead} {
		if err := in.Use(t.Context(), token); !errors.Is(err, ErrWrongToken) {
			t.Errorf("an expired token was accepted: %v", err)
		}
	}
	for range maxSignIns + 5 {
		if _, err := s.New(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > maxSignIns {
		t.Errorf("%d tokens are kept", len(entries))
	}
	more := []Issued{{hashToken("one more"), now}}
	if err := errors.Join(in.ImportOwn(t.Context()), in.Import(t.Context(), more)); err != nil {
		t.Fatal(err)
	}
	if n := len(redeem().all); n > maxSignIns {
		t.Errorf("%d tokens are stored", n)
	}
}
