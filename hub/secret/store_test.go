package secret

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// papers stores documents in memory.
type papers map[string][]byte

func (p papers) Put(_ context.Context, bucket, key string, v []byte) error {
	p[bucket+" "+key] = v
	return nil
}

func (p papers) Delete(_ context.Context, bucket, key string) error {
	delete(p, bucket+" "+key)
	return nil
}

func (p papers) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if name, ok := strings.CutPrefix(key, bucket+" "); ok {
			if err := visit(name, p[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func openStore(t *testing.T, docs papers, keys *Keys) *Store {
	t.Helper()
	s, err := OpenStore(t.Context(), docs, keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func values(t *testing.T, s *Store, session string, dirs ...string) (out []string) {
	t.Helper()
	list, err := s.For(session, dirs)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

func TestNamedSecretsReachWhatTheyAreGivenTo(t *testing.T) {
	keys, err := OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	docs, ctx := papers{}, t.Context()
	s := openStore(t, docs, keys)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Put(ctx, "owner", "TOKEN", "ghp_0123456789\n", false))
	must(s.Put(ctx, "person:ana", "TOKEN", "of another", false))
	must(s.Put(ctx, "owner", "KEY", "line one\nline two\n", true))
	if got := values(t, s, "ahp-session:/1", "/src/app"); got != nil {
		t.Errorf("without a grant a session has %q", got)
	}
	must(s.Grant(ctx, "owner", "TOKEN", []string{"ahp-session:/1"}, nil))
	must(s.Grant(ctx, "person:ana", "TOKEN", []string{"ahp-session:/1"}, nil))
	must(s.Grant(ctx, "owner", "KEY", nil, []string{"/src/app"}))
	for _, place := range []struct {
		session, dir, want string
	}{{"ahp-session:/1", "/src/other", "TOKEN=ghp_0123456789"}, {"ahp-session:/2", "/src/app", "KEY=line one\nline two\n"},
		{"ahp-session:/2", "/src/app/deep", "KEY=line one\nline two\n"}, {"ahp-session:/2", "/src/apple", ""},
		{"ahp-session:/2", "/src", ""}} {
		if got := strings.Join(values(t, s, place.session, place.dir), ","); got != place.want {
			t.Errorf("%s in %s has %q, not %q", place.session, place.dir, got, place.want)
		}
	}
	for _, raw := range docs {
		if bytes.Contains(raw, []byte("ghp_")) || bytes.Contains(raw, []byte("line one")) {
			t.Errorf("stored is %s", raw)
		}
	}
	s = openStore(t, docs, keys) // after a restart
	if got := values(t, s, "ahp-session:/1"); len(got) != 1 {
		t.Errorf("after a restart it has %q", got)
	}
	if err := s.Grant(ctx, "person:ana", "KEY", []string{"ahp-session:/1"}, nil); !errors.Is(err, ErrNone) {
		t.Errorf("another's secret was given: %v", err)
	}
	if err := s.Remove(ctx, "person:ana", "KEY"); !errors.Is(err, ErrNone) {
		t.Errorf("another's secret was removed: %v", err)
	}
	must(s.Remove(ctx, "owner", "TOKEN"))
	if got := values(t, s, "ahp-session:/1"); !slices.Equal(got, []string{"TOKEN=of another"}) {
		t.Errorf("after its removal the session has %q", got)
	}
}

func TestSecretWithLostKeyIsLocked(t *testing.T) {
	keys, err := OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	docs := papers{}
	s := openStore(t, docs, keys)
	if err := errors.Join(s.Put(t.Context(), "owner", "TOKEN", "ghp_0123456789", false),
		s.Grant(t.Context(), "owner", "TOKEN", []string{"ahp-session:/1"}, nil)); err != nil {
		t.Fatal(err)
	}
	if keys, err = OpenKeys(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, docs, keys)
	if list := s.List("owner"); len(list) != 1 || !list[0].Locked {
		t.Errorf("listed are %+v", list)
	}
	if _, err := s.For("ahp-session:/1", nil); !IsLocked(err) || !strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("a session is told %v", err)
	}
	if changed, locked, err := s.Reseal(t.Context()); changed != 0 || locked != 1 || err != nil {
		t.Error(changed, locked, err)
	}
	if err := s.Put(t.Context(), "owner", "TOKEN", "a new value", false); err != nil {
		t.Fatal(err)
	}
	if got := values(t, s, "ahp-session:/1"); !slices.Equal(got, []string{"TOKEN=a new value"}) {
		t.Errorf("entered again it is %q", got)
	}
}

func TestBadNamesAndValuesAreRefused(t *testing.T) {
	keys, err := OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, papers{}, keys)
	for _, name := range []string{"", "A B", "A=B", "1A", "A/B", "../A", "PATH", "path", "LD_PRELOAD", "AHPHUB_TOKEN",
		"BASH_ENV", "GIT_SSH_COMMAND", strings.Repeat("A", 65)} {
		if err := s.Put(t.Context(), "owner", name, "long enough", false); err == nil {
			t.Errorf("%q names a secret", name)
		}
	}
	for _, value := range []string{"", "short", "two\nlines of it", "with\x00zero", "\xff\xfe\xfd\xfc\xfb\xfa",
		strings.Repeat("a", mostValue+1)} {
		err := s.Put(t.Context(), "owner", "TOKEN", value, false)
		if err == nil || len(value) > 4 && strings.Contains(err.Error(), value) {
			t.Errorf("%.20q: %v", value, err)
		}
	}
	for _, dir := range []string{"", "src", "/", "/src/../etc", "/src/"} {
		if err := s.Grant(t.Context(), "owner", "TOKEN", nil, []string{dir}); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q is taken as a directory: %v", dir, err)
		}
	}
}
