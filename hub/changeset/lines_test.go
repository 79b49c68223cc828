package changeset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestLinesOfAChange(t *testing.T) {
	for _, c := range []struct {
		name, x, y string
		lines      machine.Lines
		with, less string // with only the selected lines, and with all others
	}{
		{"one of two changed lines", "a\nb\nc\n", "A\nB\nc\n", machine.Lines{From: 1, To: 1}, "A\nb\nc\n", "a\nB\nc\n"},
		{"by its old side", "a\nb\nc\n", "A\nB\nc\n", machine.Lines{Before: true, From: 2, To: 2}, "a\nB\nc\n",
			"A\nb\nc\n"},
		{"one of the added", "a\n", "a\nb\nc\nd\n", machine.Lines{From: 3, To: 3}, "a\nc\n", "a\nb\nd\n"},
		{"the line above what was removed", "a\nb\nc\n", "a\nc\n", machine.Lines{From: 1, To: 1}, "a\nc\n",
			"a\nb\nc\n"},
		{"the line below it", "a\nb\nc\n", "a\nc\n", machine.Lines{From: 2, To: 2}, "a\nc\n", "a\nb\nc\n"},
		{"removed at the end", "a\nb\n", "a\n", machine.Lines{From: 1, To: 1}, "a\n", "a\nb\n"},
		{"all removed", "a\nb\n", "", machine.Lines{From: 1, To: 1}, "", "a\nb\n"},
		{"one of the removed, by its old side", "a\nb\nc\n", "a\n", machine.Lines{Before: true, From: 3, To: 3},
			"a\nb\n", "a\nc\n"},
		{"more removed than added", "a\nb\nc\n", "A\n", machine.Lines{From: 1, To: 1}, "A\n", "a\nb\nc\n"},
		{"a hunk with its neighbours", "1\n2\n3\n4\n5\n", "1\ntwo\n3\nand\n4\n5\n", machine.Lines{From: 1, To: 5},
			"1\ntwo\n3\nand\n4\n5\n", "1\n2\n3\n4\n5\n"},
		{"nothing there", "a\nb\nc\nd\n", "A\nb\nc\nd\n", machine.Lines{From: 3, To: 4}, "a\nb\nc\nd\n",
			"A\nb\nc\nd\n"},
		{"CRLF", "a\r\nb\r\n", "A\r\nB\r\n", machine.Lines{From: 2, To: 2}, "a\r\nB\r\n", "A\r\nb\r\n"},
		{"line ends themselves", "a\nb\n", "a\r\nb\r\n", machine.Lines{From: 2, To: 2}, "a\nb\r\n", "a\r\nb\n"},
		{"no final newline", "a\nb", "a\nB", machine.Lines{From: 2, To: 2}, "a\nB", "a\nb"},
		{"a newline came", "a\nb", "a\nb\nc\n", machine.Lines{From: 3, To: 3}, "a\nb\nc\n", "a\nb\n"},
		{"a newline went", "a\r\nb\r\n", "a\r\nB\r\nc", machine.Lines{From: 2, To: 2}, "a\r\nB\r\n", "a\r\nb\r\nc"},
		{"not UTF-8", "\xff\n\xfe\n", "\xff\xff\n\xfe\xfe\n", machine.Lines{From: 1, To: 1}, "\xff\xff\n\xfe\n",
			"\xff\n\xfe\xfe\n"},
	} {
		with, n := mix([]byte(c.x), []byte(c.y), c.lines, true)
		less, m := mix([]byte(c.x), []byte(c.y), c.lines, false)
		if string(with) != c.with || string(less) != c.less || n != m || (n == 0) != (c.name == "nothing there") {
			t.Errorf("%s: %q and %q (%d, %d)", c.name, with, less, n, m)
		}
	}
}

// For any selection, all lines give the new version and none the old one, also in two steps.
func TestLinesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b strings.Builder
		for range r.IntN(12) {
			fmt.Fprintf(&b, "%d\n", r.IntN(5))
		}
		return []byte(strings.TrimSuffix(b.String(), [...]string{"", "\n"}[r.IntN(2)]))
	}
	for range 3000 {
		x, y := text(), text()
		all := machine.Lines{From: 1, To: 100}
		if got, _ := mix(x, y, all, true); string(got) != string(y) {
			t.Fatalf("%q to %q: all of it is %q", x, y, got)
		}
		if got, _ := mix(x, y, all, false); string(got) != string(x) {
			t.Fatalf("%q to %q: without all of it is %q", x, y, got)
		}
		from := r.IntN(12) + 1
		some := machine.Lines{Before: r.IntN(2) == 0, From: from, To: from + r.IntN(4)}
		part, n := mix(x, y, some, true)
		if same := string(part) == string(x); n == 0 && !same {
			t.Fatalf("%q to %q: none is %q", x, y, part)
		}
		if rest, _ := mix(part, y, all, true); string(rest) != string(y) {
			t.Fatalf("%q to %q by way of %q is %q", x, y, part, rest)
		}
		if l, ok := carried(x, y, some); ok && (l.From < 1 || l.To > len(splitLines(x)) || l.From > l.To) {
			t.Fatalf("%q to %q: %v are carried to %v", x, y, some, l)
		}
	}
}

func TestLinesAreCarried(t *testing.T) {
	for _, c := range []struct {
		x, y     string
		from, to int
		want     string
	}{
		{"a\nb\nc\n", "0\na\nb\nc\n", 3, 4, "2 3"},
		{"a\nb\nc\n", "a\nB\nc\n", 2, 2, "2 2"},
		{"a\nc\n", "a\nb\nc\n", 2, 2, "none"},
		{"a\nb\nc\n", "a\nc\n", 1, 2, "1 3"},
		{"a\nb\nc\n", "a\nc\n", 2, 2, "2 3"},
	} {
		l, ok := carried([]byte(c.x), []byte(c.y), machine.Lines{From: c.from, To: c.to})
		got := fmt.Sprint(l.From, l.To)
		if !ok {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%q to %q, %d to %d: %s, want %s", c.x, c.y, c.from, c.to, got, c.want)
		}
	}
}
