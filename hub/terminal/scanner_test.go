package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// scan feeds pieces and returns the clean text after each, and all OSC payloads.
func scan(pieces ...string) (out []string, oscs []string) {
	s := &scanner{osc: func(p []byte) bool {
		oscs = append(oscs, string(p))
		return isIntegration(p)
	}}
	for _, p := range pieces {
		s.write([]byte(p))
		out = append(out, s.take())
	}
	s.finish()
	return append(out, s.take()), oscs
}

func TestScannerHoldsUnfinishedSequences(t *testing.T) {
	long := strings.Repeat("x", maxSequence+10)
	tests := map[string]struct {
		in   []string
		want []string
	}{
		"plain":                      {[]string{"hello\r\n"}, []string{"hello\r\n", ""}},
		"a character in two":         {[]string{"a\xe2\x82", "\xacb"}, []string{"a", "€b", ""}},
		"a character never finished": {[]string{"a\xe2\x82"}, []string{"a", "��"}},
		"not UTF-8":                  {[]string{"\xff\xfe\x00x"}, []string{"��\x00x", ""}},
		"a colour in two":            {[]string{"a\x1b[3", "1mb"}, []string{"a", "\x1b[31mb", ""}},
		"a lone ESC":                 {[]string{"a\x1b"}, []string{"a", "\x1b"}},
		"ESC with intermediate":      {[]string{"\x1b(", "Bx"}, []string{"", "\x1b(Bx", ""}},
		"a title stays":              {[]string{"\x1b]0;t", "\ax"}, []string{"", "\x1b]0;t\ax", ""}},
		"a title ended by ST":        {[]string{"\x1b]2;t\x1b", "\\x"}, []string{"", "\x1b]2;t\x1b\\x", ""}},
		"marks go": {[]string{"a\x1b]633;A\ab\x1b]133;D;0\x1b\\c\x1b]7;file:///x\ad"},
			[]string{"abcd", ""}},
		"marks go over a cut":           {[]string{"a\x1b]63", "3;A\ab"}, []string{"a", "b", ""}},
		"a mark never finished":         {[]string{"a\x1b]633;A"}, []string{"a", ""}},
		"a mark broken off by a colour": {[]string{"a\x1b]633;A\x1b[1mb"}, []string{"a\x1b[1mb", ""}},
		"a mark cancelled":              {[]string{"a\x1b]633;A\x18b"}, []string{"a\x18b", ""}},
		"an eight-bit mark":             {[]string{"a\u009d633;A\u009cb"}, []string{"ab", ""}},
		"an image is passed on": {[]string{"\x1bP" + long, "y\x1b", "\\z"},
			[]string{"\x1bP" + long, "y", "\x1b\\z", ""}},
		"a colour ends an image": {[]string{"\x1bP" + long + "\x1b", "[1mz"},
			[]string{"\x1bP" + long, "\x18\x1b[1mz", ""}},
		"a huge mark is dropped":    {[]string{"a\x1b]633;E;" + long, long + "\ab"}, []string{"a", "b", ""}},
		"a huge mark broken off":    {[]string{"a\x1b]133;" + long + "\x1b[1mb"}, []string{"a\x1b[1mb", ""}},
		"BEL inside DCS is content": {[]string{"\x1bPa\ab\x1b\\c"}, []string{"\x1bPa\ab\x1b\\c", ""}},
		"an endless CSI": {[]string{"\x1b[" + strings.Repeat("1", 300)},
			[]string{"\x1b[" + strings.Repeat("1", 300), ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := scan(tc.in...)
			if strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// FuzzScanner checks that any splitting of the bytes gives the same text and sequences, that the
// text is UTF-8, and that it has no marks.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{"a€b", "\x1b]633;E;ls;n\a", "\x1b]0;title\x1b\\x", "\x1b[31mred\x1b[0m",
		"\u009d133;A\u009c",
		"\x1bP1;2|x\x1b\\", "\xff\xc3(", "\x1b]133;A\x1b]133;B\a", "\x1b\x1b]7;x\a\x18", "\x1b(B\x1b)0",
		"\x1b]633;C;?;n\a\x1b]633;E;a\\x3bb;n\a", "\x1b[38;2;1;2;3m\x1b[?2004;1006h",
		"\x1b]8;id=1;http://x\x1b\\l\x1b]8;;\a", "\x1b_G\x1b]133;A\a\x1b\\", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f"} {
		f.Add([]byte(s), uint8(1))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		if len(in) > 1<<16 {
			return
		}
		whole, wantOSC := scan(string(in))
		var pieces []string
		for rest := string(in); rest != ""; {
			n := min(len(rest), int(step)+1)
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		cut, gotOSC := scan(pieces...)
		if a, b := strings.Join(whole, ""), strings.Join(cut, ""); a != b {
			t.Fatalf("cut differently, read differently:\n%q\n%q", a, b)
		}
		if strings.Join(wantOSC, "|") != strings.Join(gotOSC, "|") {
			t.Fatalf("sequences differ: %q and %q", wantOSC, gotOSC)
		}
		for _, s := range cut {
			if !utf8.ValidString(s) {
				t.Fatalf("not UTF-8: %q", s)
			}
		}
		again, oscs := scan(strings.Join(whole, ""))
		for _, o := range oscs {
			if isIntegration([]byte(o)) {
				t.Fatalf("a mark reached the output: %q of %q", o, again)
			}
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	chunk := []byte(strings.Repeat("\x1b[32mok\x1b[0m  github.com/ahphub/ahphub/hub/terminal 0.512s\r\n", 500))
	s := &scanner{}
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		s.write(chunk)
		s.take()
	}
}

// The end of a plain run is found at any place, next to any byte.
func TestPlainRunEndsAtEscapesAndBytesAbove127(t *testing.T) {
	for n := range 20 {
		for b := range 256 {
			p := append([]byte("\x1a\x1c\x00\x7f abcdefghijklmnopqr"[:n]), byte(b), 'x', 0x1b)
			want := n + 2
			if b == runeESC || b >= utf8.RuneSelf {
				want = n
			}
			if got := plain(p); got != want {
				t.Fatalf("%q is plain for %d bytes, want %d", p, got, want)
			}
		}
	}
}

// BenchmarkPlain searches the end of 32 KiB of lines without sequences.
func BenchmarkPlain(b *testing.B) {
	p := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\r\n"), 442)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		plain(p)
	}
}
