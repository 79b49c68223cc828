package texts_test

import (
	"testing"

	"github.com/ahphub/ahphub/hub/texts"
)

func TestOneLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"only whitespace", " \n\t ", ""},
		{"already one line", "fix the parser", "fix the parser"},
		{"lines, tabs and no-break spaces", "  fix\r\n\tthe\u00a0\u2028parser\n", "fix the parser"},
		{"bytes that are not UTF-8", "a\xff\xfe\nb", "a\uFFFD b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := texts.OneLine(c.in); got != c.want {
				t.Errorf("OneLine(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	const bare, word = "\xbf\xbf\xbf\xbf\xbf\xbf", "aé€😀" // characters of 1, 2, 3 and 4 bytes
	for _, c := range []struct {
		name string
		cut  func(string, int) string
		in   string
		n    int
		want string
	}{
		{"CutBytes: empty", texts.CutBytes, "", 0, ""},
		{"CutBytes: nothing is left", texts.CutBytes, word, 0, ""},
		{"CutBytes: as long as allowed", texts.CutBytes, word, 10, word},
		{"CutBytes: last byte of four", texts.CutBytes, word, 9, "aé€"},
		{"CutBytes: second byte of four", texts.CutBytes, word, 7, "aé€"},
		{"CutBytes: between characters", texts.CutBytes, word, 6, "aé€"},
		{"CutBytes: inside of three", texts.CutBytes, word, 5, "aé"},
		{"CutBytes: inside of two", texts.CutBytes, word, 2, "a"},
		{"CutBytes: other bytes stay", texts.CutBytes, "a\xffbc", 3, "a\xffb"},
		{"CutBytes: bytes without a character", texts.CutBytes, bare, 5, bare[:1]},
		{"ElideBytes: as long as allowed", texts.ElideBytes, word, 10, word},
		{"ElideBytes: the ellipsis is not counted", texts.ElideBytes, word, 6, "aé€…"},
		{"ElideBytes: whole characters", texts.ElideBytes, word, 8, "aé€…"},
		{"ElideBytes: whitespace stays", texts.ElideBytes, "one\ntwo", 4, "one\n…"},
		{"CutRunes: empty", texts.CutRunes, "", 0, ""},
		{"CutRunes: nothing is left", texts.CutRunes, word, 0, ""},
		{"CutRunes: as long as allowed", texts.CutRunes, word, 4, word},
		{"CutRunes: one too many", texts.CutRunes, word, 3, "aé€"},
		{"ElideRunes: as long as allowed", texts.ElideRunes, word, 4, word},
		{"ElideRunes: the ellipsis is counted", texts.ElideRunes, word, 3, "aé…"},
		{"ElideRunes: no whitespace before it", texts.ElideRunes, "one two", 5, "one…"},
		{"ElideRunes: room for the ellipsis alone", texts.ElideRunes, word, 1, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.cut(c.in, c.n); got != c.want {
				t.Errorf("%q cut at %d is %q, want %q", c.in, c.n, got, c.want)
			}
		})
	}
}
