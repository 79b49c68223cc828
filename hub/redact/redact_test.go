package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const token = `gh"p_<A&b>/9\x+ y`

func TestSetHidesEveryForm(t *testing.T) {
	s := New([]Secret{{"TOKEN", token}})
	quoted, _ := json.Marshal(token)
	again, _ := json.Marshal(string(quoted))
	for name, text := range map[string]string{
		"literal": "a" + token + "b", "JSON": string(quoted), "JSON in JSON": string(again),
		"base64":           base64.StdEncoding.EncodeToString([]byte(token)),
		"base64 of a line": base64.StdEncoding.EncodeToString([]byte(token + "\n")),
		"base64 behind":    base64.StdEncoding.EncodeToString([]byte("u:" + token)),
		"base64 URL":       base64.RawURLEncoding.EncodeToString([]byte("x" + token)),
		"query":            url.QueryEscape(token), "path": url.PathEscape(token),
		"hex": hex.EncodeToString([]byte(token)),
	} {
		if got := s.String(text); !strings.Contains(got, "[secret TOKEN]") || strings.Contains(got, token) {
			t.Errorf("%s: %q stays %q", name, text, got)
		}
	}
	if got := s.String("gh is not it"); got != "gh is not it" {
		t.Errorf("%q was changed", got)
	}
}

// Tools break base64 lines at 76 or 64 columns, at any position in a secret.
func TestWrappedBase64IsHidden(t *testing.T) {
	const value = "hunter2-swordfish-of-the-north" // 40 characters in base64
	s := New([]Secret{{"S", value}})
	for before := range 90 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + value + "\n"))
		for _, lineEnd := range []string{"\n", "\r\n", `\n`, `\\n`} {
			var wrapped strings.Builder
			for line := range slices.Chunk([]byte(text), 76) {
				wrapped.Write(line)
				wrapped.WriteString(lineEnd)
			}
			printed, whole := []byte(wrapped.String()), s.String(wrapped.String())
			if got, _, _ := strings.Cut(whole, "[secret S]"); len(got) > (before+1)*4/3+6+len(lineEnd) || got == whole {
				t.Fatalf("%d bytes before it: %q stays %q", before, printed, whole)
			}
			if tail := strings.SplitAfter(whole, "[secret S]"); len(tail[len(tail)-1]) > 6+2*len(lineEnd) {
				t.Fatalf("%d bytes before it: %q stays behind", before, whole)
			}
			st, divided := s.NewStream(), []byte(nil)
			for piece := range chunks(printed, 3) {
				divided = append(divided, st.Write(piece)...)
			}
			if divided = append(divided, st.Close()...); string(divided) != whole {
				t.Fatalf("in pieces it is %q, not %q", divided, whole)
			}
		}
	}
	if st := s.NewStream(); len(st.Write([]byte("aHVudGVy\n\n\n\n\n\n"))) != 14 {
		t.Error("empty lines are held back")
	}
	raw, err := s.JSON([]byte(`{"text":"aHVudGVyMi1zd29yZGZp\nc2gtb2YtdGhlLW5vcnRo"}`))
	if err != nil || !strings.HasPrefix(string(raw), `{"text":"[secret S]`) {
		t.Errorf("as JSON it is %s, %v", raw, err)
	}
}

func TestSetHidesLinesOfKeys(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ==\n-----END PRIVATE KEY-----\n"
	s := New([]Secret{{"KEY", pem}})
	if got := s.String("k: " + strings.ReplaceAll(pem, "\n", "\r\n")); got != "k: [secret KEY]\r\n" {
		t.Errorf("a terminal shows %q", got)
	}
	if got := s.String("EFAASCBKcwggSjAgEAAoIBAQ=="); got != "[secret KEY]" {
		t.Errorf("a line is %q", got)
	}
}

func TestShortValuesAreNotLookedFor(t *testing.T) {
	if New([]Secret{{"A", "abcde"}, {"B", ""}}) != nil {
		t.Error("a value of five characters is looked for")
	}
	var none *Set
	if none.String("x") != "x" || none.NewStream() != nil {
		t.Error("a nil set hides something")
	}
}

// TestStreamHidesWhatIsDivided splits a text at random positions, with pauses.
func TestStreamHidesWhatIsDivided(t *testing.T) {
	s := New([]Secret{{"A", "aabaab-1234"}, {"B", "aab-xyz"}, {"C", "aabaab"}})
	text := "aaabaab-1234 aab-xy aabaaab-xyz aabaab-123 aaabaabaab-1234aab-xyzaabaabaab"
	want := s.String(text)
	for _, secret := range []string{"aabaab-1234", "aab-xyz", "aabaab"} {
		if strings.Contains(want, secret) {
			t.Fatalf("%q has %q", want, secret)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		st, got := s.NewStream(), []byte(nil)
		paused := random.IntN(2) == 0
		for rest := text; rest != ""; {
			n := 1 + random.IntN(len(rest))
			got = append(got, st.Write([]byte(rest[:n]))...)
			rest = rest[n:]
			if paused {
				got = append(got, st.Pause()...)
			}
		}
		got = append(got, st.Close()...)
		if !paused && string(got) != want {
			t.Fatalf("divided it is %q, not %q", got, want)
		}
		for _, secret := range []string{"aabaab-1234", "aab-xyz", "aabaab"} {
			if paused && strings.Contains(string(got), secret) {
				t.Fatalf("with pauses, %q has %q", got, secret)
			}
		}
	}
}

func TestStreamShowsPromptWhenProgramPauses(t *testing.T) {
	st := New([]Secret{{"A", "$ secret"}}).NewStream()
	got := string(st.Write([]byte("me:~$ ")))
	if got != "me:~" || !st.IsHolding() {
		t.Fatalf("it shows %q at once", got)
	}
	if got += string(st.Pause()); got != "me:~$ " || st.IsHolding() {
		t.Fatalf("after a pause it shows %q", got)
	}
	if got += string(st.Write([]byte("ls\r\n$ secret"))); got != "me:~$ ls\r\n[secret A]" {
		t.Errorf("then it shows %q", got)
	}
}

func TestStreamHidesTruncatedEnd(t *testing.T) {
	st := New([]Secret{{"A", "0123456789abcdef"}}).NewStream()
	got := append(st.Write([]byte("x 0123456789abc")), st.Close()...)
	if string(got) != "x [secret A]" {
		t.Errorf("the end is %q", got)
	}
}

func TestJSONKeepsItsShape(t *testing.T) {
	s := New([]Secret{{"A", "n12345"}, {"B", token}})
	raw, _ := json.Marshal(map[string]any{"t": "a\n12345", "n": json.Number("12345678901234567890"), "s": []any{"n12345", token}, token: 1})
	got, err := s.JSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"[secret B]":1,"n":12345678901234567890,"s":["[secret A]","[secret B]"],"t":"a\n12345"}`; string(got) != want {
		t.Errorf("it is %s, not %s", got, want)
	}
	if got, err := s.JSON([]byte(`{"a":"b"}`)); got != nil || err != nil {
		t.Errorf("without a secret it is %s (%v)", got, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("abcabcd"), "abcd", uint8(3))
	f.Add([]byte("xx aab"), "aabaab", uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, secret string, step uint8) {
		s := New([]Secret{{"S", secret}})
		if s == nil {
			return
		}
		st, got := s.NewStream(), []byte(nil)
		for piece := range chunks(text, int(step)+1) {
			got = append(got, st.Write(piece)...)
		}
		got = append(got, st.Close()...)
		all := s.NewStream()
		if want := append(all.Write(text), all.Close()...); !bytes.Equal(got, want) {
			t.Fatalf("divided it is %q, not %q", got, want)
		}
		value := strings.TrimRight(secret, "\r\n")
		if bytes.Contains(bytes.ReplaceAll(got, []byte("[secret S]"), nil), []byte(value)) && !strings.Contains(string(got), "[secret S]") {
			t.Fatalf("%q has the secret", got)
		}
	})
}

func chunks(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

// BenchmarkStream measures hiding secrets in a terminal's output.
func BenchmarkStream(b *testing.B) {
	var list []Secret
	for i := range 8 {
		list = append(list, Secret{"S", strings.Repeat(string(rune('a'+i)), 3) + "_0123456789abcdefghijklmnop"})
	}
	st := New(list).NewStream()
	piece := bytes.Repeat([]byte("2026-11-22 INFO building package github.com/ahphub/ahphub/hub [ok] 0.31s\r\n"), 440)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		st.Write(piece)
	}
}
