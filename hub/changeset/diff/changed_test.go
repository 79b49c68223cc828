package diff

import "testing"

// The changed lines of a hunk include deletions before its first and after its last added line.
func TestChangedLinesOfAHunk(t *testing.T) {
	for _, c := range []struct {
		old, new string
		left     bool
		from, to int
	}{
		{"a\nb\nc\n", "a\nB\nc\n", false, 2, 2},
		{"a\nb\nc\n", "a\nc\n", true, 2, 2},
		{"x\na\nb\nc\n", "a\nb\nB\nc\n", false, 1, 3},
		{"a\nb\nx\n", "0\na\nb\n", false, 1, 3},
		{"a\n", "a\nb\nc\n", false, 2, 3},
	} {
		h := Compute([]byte(c.old), []byte(c.new), Options{}).Hunks[0]
		if left, from, to := h.Changed(); left != c.left || from != c.from || to != c.to {
			t.Errorf("%q to %q: %v %d %d", c.old, c.new, left, from, to)
		}
	}
}
