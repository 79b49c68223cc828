package access

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"Ana", "", "\u202eAna", "a\x00b", "\xff", "  é\u0301  "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := CleanName(s)
		if (got == "") != (err != nil) {
			t.Fatalf("%q: %q, %v", s, got, err)
		}
		if utf8.RuneCountInString(got) > longestName {
			t.Errorf("%q is %d characters long", got, utf8.RuneCountInString(got))
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q has the invisible %U", got, r)
			}
		}
		if again, _ := CleanName(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
