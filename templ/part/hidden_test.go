package part

import (
	"strings"
	"testing"
)

func TestHiddenCharactersAreMarked(t *testing.T) {
	before, after := "if admin {\n", "if admin\u202e { // \u2066safe\u2069 x\u200by\n"
	html := drawn(t, DiffBox(fileOf("a.go", before, after), DiffView{}))
	for _, want := range []string{`data-u="U+202E"`, `data-u="U+2066"`, `data-u="U+200B"`,
		"changes the direction of text", "\u202e</span>"} {
		if !strings.Contains(html, want) {
			t.Errorf("the diff misses %q", want)
		}
	}
	if got := drawn(t, Shown("rm \x1b[2K<b>\n\té ü 日本")); strings.Contains(got, "<b>") ||
		strings.Count(got, "hid") != 1 || !strings.Contains(got, "é ü 日本") {
		t.Errorf("shown as %q", got)
	}
	if Hidden("plain é 日本 👍\n") != 0 || hiddenWarning("x") != "" || hiddenWarning("\u200b") == "" {
		t.Error("plain text is flagged, or hidden text is not")
	}
}

func FuzzShown(f *testing.F) {
	for _, s := range []string{"a\u202eb", "<x>", "\xff\x00", "\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(appendText(nil, s))
		bare := anyTag.ReplaceAllString(got, "")
		if strings.ContainsAny(bare, "<>") {
			t.Errorf("%q is drawn as %q", s, got)
		}
	})
}
