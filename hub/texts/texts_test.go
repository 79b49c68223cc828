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
