package review

import (
	"slices"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":           {"just **words**", "just **words**"},
		"one":            {"so:\n```suggestion\n\tx := 1\n```\nplease", "so:|[\tx := 1]|please"},
		"deletes":        {"```suggestion\n```", "[]"},
		"an empty line":  {"```suggestion\n\n```", "[]"},
		"two":            {"```suggestion\na\n```\n```suggestion\nb\nc\n```", "[a]|[b;c]"},
		"other fences":   {"```go\nx\n```\nand", "```go\nx\n```\nand"},
		"within a fence": {"````md\n```suggestion\nx\n```\n````", "````md\n```suggestion\nx\n```\n````"},
		"not ended":      {"```suggestion\na\nb", "[a;b]"},
		"longer marks":   {"````suggestion\n```\nx\n```\n````", "[```;x;```]"},
		"tildes":         {"~~~suggestion\nx\n~~~", "[x]"},
		"from a browser": {"a\r\n```suggestion\r\nx\r\n```\r\n", "a|[x]"},
		"an option":      {"```suggestion:-0+0\nx\n```", "```suggestion:-0+0\nx\n```"},
		"indented code":  {"    ```suggestion\n    x", "    ```suggestion\n    x"},
	} {
		var got []string
		for _, p := range Parts(c.text) {
			if p.Suggest {
				got = append(got, "["+strings.Join(p.Lines, ";")+"]")
			} else {
				got = append(got, p.Text)
			}
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// The output of Fence parses back to its input, whatever that contains.
func TestFenceHolds(t *testing.T) {
	for _, lines := range [][]string{{"a"}, {"```", "x", "````"}, {""}, {"  ~~~"}, nil} {
		got := Suggestions(Fence(lines))
		if len(got) != 1 || !slices.Equal(got[0], lines) {
			t.Errorf("%q came back as %q", lines, got)
		}
	}
}

func TestCertain(t *testing.T) {
	ten := numbered(10)
	for name, c := range map[string]struct {
		new  []string
		r    Range
		want Range
		ok   bool
	}{
		"nothing changed":  {ten, Range{3, 4}, Range{3, 4}, true},
		"lines above":      {append([]string{"x", "y"}, ten...), Range{3, 4}, Range{5, 6}, true},
		"a line inside":    {slices.Insert(slices.Clone(ten), 3, "x"), Range{3, 4}, Range{}, false},
		"one of them gone": {slices.Delete(slices.Clone(ten), 3, 4), Range{3, 4}, Range{}, false},
		"past the end":     {ten, Range{9, 11}, Range{}, false},
	} {
		if got, ok := Certain(ten, c.new, c.r); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %v %v, want %v %v", name, got, ok, c.want, c.ok)
		}
	}
}

func TestQuoted(t *testing.T) {
	lines := Lines("a\nb\nc\na\nb\nd")
	for name, c := range map[string]struct {
		quote string
		r     Range
		want  Range
		ok    bool
	}{
		"where it stood":      {"a\nb", Range{4, 5}, Range{4, 5}, true},
		"one other place":     {"b\nd", Range{1, 2}, Range{5, 6}, true},
		"two other places":    {"a\nb", Range{2, 3}, Range{}, false},
		"nowhere":             {"x", Range{1, 1}, Range{}, false},
		"not all was quoted":  {"a", Range{1, 2}, Range{}, false},
		"nothing was quoted ": {"", Range{1, 1}, Range{}, false},
	} {
		if got, ok := Quoted(lines, c.quote, c.r); ok != c.ok || got != c.want {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
}

func TestReplace(t *testing.T) {
	edit := func(from, to int, lines ...string) Edit { return Edit{Range{from, to}, lines} }
	for name, c := range map[string]struct {
		text  string
		edits []Edit
		want  string
	}{
		"one line":            {"a\nb\nc\n", []Edit{edit(2, 2, "B")}, "a\nB\nc\n"},
		"more lines":          {"a\nb\nc\n", []Edit{edit(2, 3, "B", "", "C")}, "a\nB\n\nC\n"},
		"deletes":             {"a\nb\nc\n", []Edit{edit(2, 2)}, "a\nc\n"},
		"two, in any order":   {"a\nb\nc\n", []Edit{edit(1, 1, "x", "y"), edit(3, 3, "z")}, "x\ny\nb\nz\n"},
		"other ends of lines": {"a\r\nb\r\n", []Edit{edit(2, 2, "B")}, "a\r\nB\r\n"},
		"no newline at end":   {"a\nb", []Edit{edit(2, 2, "B", "C")}, "a\nB\nC"},
		"the same lines":      {"a\nb\nc\n", []Edit{edit(1, 2, "x"), edit(2, 2, "y")}, "error"},
		"past the end":        {"a\n", []Edit{edit(4, 4, "x")}, "error"},
	} {
		got, err := Replace(c.text, c.edits)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzSuggestions(f *testing.F) {
	f.Add("a\n```suggestion\nx\n```\nb", "one\ntwo\r\nthree", 1, 2)
	f.Add("~~~~\n```suggestion", "", 0, 0)
	f.Fuzz(func(t *testing.T, comment, text string, from, to int) {
		for _, lines := range Suggestions(comment) {
			out, err := Replace(text, []Edit{{Range{from, to}, lines}})
			if err == nil && len(out) > len(text)+len(comment)+2*len(lines)+2 {
				t.Fatalf("%q grew to %q", text, out)
			}
		}
	})
}
