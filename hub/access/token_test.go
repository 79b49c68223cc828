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
	tokens := NewTokens("the owner's own secret", "Olu", links, nil)
	if p, err := tokens.Check(t.Context(), "the owner's own secret"); err != nil || p.Role != RoleOwner || p.Name != "Olu" {
		t.Errorf("the owner is %+v, %v", p, err)
	}
	if p, err := tokens.Check(t.Context(), link); err != nil || p.Role != RoleViewer {
		t.Errorf("the link's bearer is %+v, %v", p, err)
	}
	for _, wrong := range []string{"", "the owner's own secre", link + "x"} {
		if p, err := tokens.Check(t.Context(), wrong); !errors.Is(err, ErrWrongToken) || p.Known() {
			t.Errorf("%q let in %+v, %v", wrong, p, err)
		}
	}
}

func TestOwnerToken(t *testing.T) {
	dir := t.TempDir()
	made, path, err := OwnerToken("", "", dir)
	if err != nil || len(made) < 32 {
		t.Fatalf("made %q, %v", made, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v: want mode 0600", info.Mode(), err)
	}
	if again, _, err := OwnerToken("", "", dir); err != nil || again != made {
		t.Errorf("the next start has another token: %v", err)
	}
	file := filepath.Join(dir, "mine")
	os.WriteFile(file, []byte("  a token of my own choice\n"), 0o600)
	if got, _, err := OwnerToken("", file, dir); err != nil || got != "a token of my own choice" {
		t.Errorf("from a file: %q, %v", got, err)
	}
	if _, _, err := OwnerToken("short", "", dir); err == nil {
		t.Error("a short token was taken")
	}
	if _, _, err := OwnerToken("", filepath.Join(dir, "absent"), dir); err == nil {
		t.Error("a token file that is not there was taken")
	}
}

func TestSignInWorksOnce(t *testing.T) {
	now := time.Now()
	s := SignIn{Dir: filepath.Join(t.TempDir(), "signin"), Now: func() time.Time { return now }}
	token, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	var good, bad int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := s.Use(token)
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
		t.Errorf("%d got in by one token, %d were refused", good, bad)
	}
	old, _ := s.New()
	now = now.Add(signInLife + time.Minute)
	if err := s.Use(old); !errors.Is(err, ErrWrongToken) {
		t.Errorf("an old token was good: %v", err)
	}
	for range signInMost + 5 {
		if _, err := s.New(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) > signInMost {
		t.Errorf("%d tokens are kept", len(entries))
	}
}
