package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const helper = "func helper(name string) string {\n\tif name == \"\" {\n\t\treturn \"nobody\"\n\t}\n\treturn " +
	"strings.ToUpper(name)\n}\n"

func numbered(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", word, i)
	}
	return b.String()
}

func TestMoves(t *testing.T) {
	kept := numbered(20, "kept")
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(helper, "\n"), "\n", "\n\t") + "\n"
	for name, c := range map[string]struct {
		files [][2]string
		want  string
	}{
		"down the file": {[][2]string{{helper + kept, kept + helper}}, "0-1-6>0:21 0+21-26<0:1"},
		"to another file": {[][2]string{{kept + helper, kept}, {kept, kept + helper}},
			"0-21-26>1:21 1+21-26<0:21"},
		"to a new file": {[][2]string{{kept + helper, kept}, {"", "package b\n\n" + helper}},
			"0-21-26>1:3 1+3-8<0:21"},
		"indented on the way": {[][2]string{{helper + kept, kept + "type x struct {\n" + indented + "}\n"}},
			"0-1-6>0:22 0+22-27<0:1"},
		"copied twice": {[][2]string{{helper + kept, kept + helper + "\nvar x = 1\n\n" + helper}},
			"0-1-6>0:21 0+21-26<0:1 0+30-35<0:1"},
		"indented in place": {[][2]string{{kept + helper, kept + indented}}, ""},
		"too little":        {[][2]string{{"x := 1\n}\n" + kept, kept + "x := 1\n}\n"}}, ""},
		"two long lines": {[][2]string{{"return fmt.Errorf(\"something\")\nreturn errors.New(\"else\")\n" + kept,
			kept + "return fmt.Errorf(\"something\")\nreturn errors.New(\"else\")\n"}}, ""},
		"empty lines stay out": {[][2]string{{kept + "\n" + helper + "\n", kept}, {kept, kept + "\n" + helper + "\n"}},
			"0-22-27>1:22 1+22-27<0:22"},
	} {
		files := make([]*File, len(c.files))
		for i, f := range c.files {
			files[i] = Compute([]byte(f[0]), []byte(f[1]), Options{})
		}
		var got []string
		for i, list := range Moves(append(files, nil)) {
			for _, b := range list {
				sign, to := '+', '<'
				if b.Kind == Delete {
					sign, to = '-', '>'
				}
				got = append(got, fmt.Sprintf("%d%c%d-%d%c%d:%d", i, sign, b.From, b.To, to, b.File, b.Line))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// The search is fast on repetitive texts.
func TestMovesAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"one line":    strings.Repeat("the same line again and again\n", 20_000),
		"some blocks": strings.Repeat(helper, 3_000),
		"brackets":    strings.Repeat("x1\n"+strings.Repeat("}\n", 50), 400),
	} {
		files := []*File{Compute([]byte(text), nil, Options{}), Compute(nil, []byte(text), Options{})}
		for _, list := range Moves(files) {
			if !slices.IsSortedFunc(list, func(a, b Block) int { return a.From - b.From }) {
				t.Errorf("%s: blocks out of order", name)
			}
		}
	}
}

func BenchmarkMoves(b *testing.B) {
	old, now := numbered(50_000, "some line of text that was there before"),
		numbered(50_000, "another line that came in its place")
	files := []*File{Compute([]byte(old), nil, Options{}), Compute(nil, []byte(now+old), Options{})}
	for b.Loop() {
		Moves(files)
	}
}
