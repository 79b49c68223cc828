package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// apply rebuilds both sides from the rows and the lines between hunks.
func apply(t testing.TB, f *File, old, new []byte) (x, y string) {
	t.Helper()
	oldSide, newSide := split(string(old)), split(string(new))
	var bx, by strings.Builder
	atX, atY := 0, 0
	upTo := func(endX, endY int) {
		for ; atX < endX; atX++ {
			writeLine(&bx, oldSide, atX)
		}
		for ; atY < endY; atY++ {
			writeLine(&by, newSide, atY)
		}
	}
	for _, h := range f.Hunks {
		upTo(max(h.OldStart-1, 0), max(h.NewStart-1, 0))
		for _, r := range h.Rows {
			end := "\n"
			if r.NoNewline {
				end = ""
			}
			if r.Kind != Add {
				if r.Old != atX+1 {
					t.Fatalf("row says old line %d, want %d", r.Old, atX+1)
				}
				bx.WriteString(r.Text + end)
				atX++
			}
			if r.Kind != Delete {
				if r.New != atY+1 {
					t.Fatalf("row says new line %d, want %d", r.New, atY+1)
				}
				by.WriteString(r.Text + end)
				atY++
			}
		}
	}
	upTo(len(oldSide.lines), len(newSide.lines))
	return bx.String(), by.String()
}

func writeLine(b *strings.Builder, s side, n int) {
	b.WriteString(s.lines[n])
	if !s.endsAt(n) {
		b.WriteByte('\n')
	}
}

func checkSpans(t testing.TB, f *File) {
	t.Helper()
	for _, h := range f.Hunks {
		for i, r := range h.Rows {
			end := 0
			for _, s := range r.Spans {
				if s.Start < end || s.End <= s.Start || s.End > len(r.Text) || s.Class == "" && !s.Changed {
					t.Fatalf("row %q: bad spans %+v", r.Text, r.Spans)
				}
				end = s.End
			}
			if p := r.Pair; p >= 0 && (h.Rows[p].Pair != i || h.Rows[p].Kind == r.Kind) {
				t.Fatalf("row %d is paired with %d, which is not paired back", i, p)
			}
		}
	}
}

func TestComputeCounts(t *testing.T) {
	cases := []struct {
		name, old, new string
		o              Options
		add, del       int
		hunks          int
	}{
		{"equal", "a\nb\n", "a\nb\n", Options{}, 0, 0, 0},
		{"both empty", "", "", Options{}, 0, 0, 0},
		{"new file", "", "a\nb\n", Options{}, 2, 0, 1},
		{"deleted file", "a\nb\n", "", Options{}, 0, 2, 1},
		{"one line", "a\nb\nc\n", "a\nx\nc\n", Options{}, 1, 1, 1},
		{"newline lost", "a\nb\n", "a\nb", Options{}, 1, 1, 1},
		{"newline lost, spaces ignored", "a\nb\n", "a\nb", Options{Space: SpaceNone}, 0, 0, 0},
		{"line ends", "a\nb\n", "a\r\nb\r\n", Options{}, 2, 2, 1},
		{"line ends, spaces ignored", "a\nb\n", "a\r\nb\r\n", Options{Space: SpaceNone}, 0, 0, 0},
		{"indented, spaces ignored", "if x {\ny\n}\n", "if x {\n\ty + 1\n}\n", Options{Space: SpaceNone}, 1, 1, 1},
		{"far apart", lines(40), strings.Replace(strings.Replace(lines(40), "line 3\n", "x\n", 1), "line 30\n", "y\n",
			1), Options{}, 2, 2, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := Compute([]byte(c.old), []byte(c.new), c.o)
			if f.Additions != c.add || f.Deletions != c.del || len(f.Hunks) != c.hunks {
				t.Errorf("got +%d −%d in %d hunks, want +%d −%d in %d", f.Additions, f.Deletions, len(f.Hunks), c.add,
					c.del, c.hunks)
			}
			checkSpans(t, f)
		})
	}
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestHunkOfOneLine(t *testing.T) {
	old := "package a\n\nfunc f() int {\n\tx := 1\n\ty := 2\n\tz := 3\n\tw := 4\n\treturn x\n}"
	new := strings.Replace(old, "return x", "return x + y", 1)
	f := Compute([]byte(old), []byte(new), Options{Path: "a.go"})
	h := f.Hunks[0]
	if h.Section != "func f() int {" || h.OldStart != 5 || h.OldLines != 5 || h.NewStart != 5 || h.NewLines != 5 {
		t.Errorf("hunk is %+v", h)
	}
	add := h.Rows[4]
	want := Row{Kind: Add, New: 8, Text: "\treturn x + y", Pair: 3, Spans: []Span{
		{Start: 1, End: 7, Class: "k"}, {Start: 9, End: 13, Changed: true}}}
	if d := cmp.Diff(want, add); d != "" {
		t.Error(d)
	}
	if last := h.Rows[5]; !last.NoNewline || last.Text != "}" {
		t.Errorf("the last row is %+v, want it without a newline", last)
	}
}

func TestWordDiffOnlyForSimilarLines(t *testing.T) {
	f := Compute([]byte("total := add(first, second)\n"),
		[]byte("total := sub(first, second)\nsomething entirely other\n"), Options{})
	rows := f.Hunks[0].Rows
	if rows[0].Pair != 1 || rows[1].Pair != 0 || rows[2].Pair != -1 {
		t.Fatalf("pairs are %d %d %d", rows[0].Pair, rows[1].Pair, rows[2].Pair)
	}
	if got := changedText(rows[1]); got != "sub" {
		t.Errorf("changed words are %q, want sub", got)
	}
	if rows[2].Spans != nil {
		t.Errorf("a line with no other version has changed words %+v", rows[2].Spans)
	}
}

func TestPairsFollowLikeness(t *testing.T) {
	old := "alpha(one, two)\n"
	new := "// a comment that was put in\n// and another one\nalpha(one, three)\n"
	rows := Compute([]byte(old), []byte(new), Options{}).Hunks[0].Rows
	if rows[0].Pair != 3 {
		t.Errorf("the deleted line is paired with row %d, want 3", rows[0].Pair)
	}
	want := []SplitRow{{-1, 1}, {-1, 2}, {0, 3}}
	if d := cmp.Diff(want, Split(rows)); d != "" {
		t.Error(d)
	}
}

func changedText(r Row) (s string) {
	for _, sp := range r.Spans {
		if sp.Changed {
			s += r.Text[sp.Start:sp.End]
		}
	}
	return s
}

func TestLongLinesHaveNoWords(t *testing.T) {
	long := strings.Repeat("word ", 300)
	f := Compute([]byte(long+"a\n"), []byte(long+"b\n"), Options{})
	for _, r := range f.Hunks[0].Rows {
		if r.Spans != nil {
			t.Errorf("a line of %d bytes has spans", len(r.Text))
		}
	}
}

func TestBinaryAndBig(t *testing.T) {
	if f := Compute([]byte("a\x00b"), []byte("text\n"), Options{}); !f.Binary || f.Hunks != nil {
		t.Error("a zero byte does not make a file binary")
	}
	if f := Compute([]byte("caf\xe9\n"), []byte("caf\xe8\n"), Options{Path: "a.go"}); !f.NotUTF8 ||
		f.Hunks[0].Rows[0].Text != "caf\xe9" {
		t.Error("Latin-1 text is not kept byte for byte")
	}
	if f := Compute(nil, []byte(lines(20_001)), Options{}); !f.TooBig || f.Additions != 20_001 {
		t.Error("a file of 20 001 changed lines is not folded")
	}
	if f := Compute([]byte(strings.Repeat("x", mostBytes+1)), nil, Options{}); !f.TooBig || f.Hunks != nil {
		t.Error("a side of over 10 MB is compared")
	}
}

func TestClassesSurviveSidesReadInParts(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "func f%d() string { return \"%d\" } // note\n", i, i)
	}
	old := b.String()
	new := strings.Replace(old, `return "4000"`, `return "four"`, 1)
	f := Compute([]byte(old), []byte(new), Options{Path: "x/y.go"})
	var got []string
	r := f.Hunks[0].Rows[4]
	for _, s := range r.Spans {
		got = append(got, s.Class+":"+r.Text[s.Start:s.End])
	}
	want := []string{"k:func", "f:f4000", "t:string", "k:return", `s:"`, "s:four", `s:"`, "c:// note"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestContextRows(t *testing.T) {
	old := lines(100)
	new := "top\n" + strings.Replace(old, "line 50\n", "x\n", 1)
	rows := ContextRows([]byte(old), []byte(new), Options{}, 1, 30)
	if n := len(rows); n != 26 || rows[0].New != 5 || rows[0].Old != 4 || rows[25].Text != "line 29" {
		t.Errorf("got %d rows from %+v", n, rows[0])
	}
	rows = ContextRows([]byte(old), []byte(new), Options{}, 95, 1000)
	if n := len(rows); n != 7 || rows[6].Old != 100 || rows[6].New != 101 {
		t.Errorf("got %d rows at the end", n)
	}
	if rows := ContextRows([]byte(old), []byte(old), Options{}, 3, 4); len(rows) != 2 || rows[0].Old != 3 {
		t.Errorf("an unchanged file shows %v", rows)
	}
}

// TestRowsGiveBackBothSides checks the model's guarantee on random texts and edits.
func TestRowsGiveBackBothSides(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		old, new := randomPair(r)
		f := Compute(old, new, Options{Path: []string{"", "a.go", "b.ts", "c.md"}[r.IntN(4)]})
		x, y := apply(t, f, old, new)
		if x != string(old) || y != string(new) {
			t.Fatalf("seed %d: the rows do not give back both sides", seed)
		}
		checkSpans(t, f)
		checkSplit(t, f)
	}
}

func checkSplit(t testing.TB, f *File) {
	t.Helper()
	for _, h := range f.Hunks {
		left, right := 0, 0
		for _, s := range Split(h.Rows) {
			if s.Left >= 0 && h.Rows[s.Left].Kind != Add {
				left++
			}
			if s.Right >= 0 && h.Rows[s.Right].Kind != Delete {
				right++
			}
		}
		if left != h.OldLines || right != h.NewLines {
			t.Fatalf("side by side shows %d and %d lines of %d and %d", left, right, h.OldLines, h.NewLines)
		}
	}
}

func randomPair(r *rand.Rand) (old, new []byte) {
	words := []string{"func", "return", "x", "y", "(", ")", "{", "}", "\"s\"", "//", "/*", "*/", "`", "é", "\xff", "\t",
		"1", "if"}
	line := func() string {
		var b strings.Builder
		for range r.IntN(7) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{"", " "}[r.IntN(2)])
		}
		return b.String()
	}
	var a []string
	for range r.IntN(60) {
		a = append(a, line())
	}
	b := append([]string(nil), a...)
	for range r.IntN(12) {
		at := r.IntN(len(b) + 1)
		switch {
		case r.IntN(3) == 0 || at == len(b):
			b = append(b[:at:at], append([]string{line()}, b[at:]...)...)
		case r.IntN(2) == 0:
			b = append(b[:at:at], b[at+1:]...)
		default:
			b[at] += " " + line()
		}
	}
	end := func(l []string) []byte {
		nl := []string{"\n", "\r\n"}[r.IntN(2)]
		s := strings.Join(l, nl)
		if r.IntN(3) > 0 && len(l) > 0 {
			s += nl
		}
		return []byte(s)
	}
	return end(a), end(b)
}

// TestAgreesWithGit compares the number of changed lines with git's on random pairs.
func TestAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	ours, gits := 0, 0
	for seed := range uint64(40) {
		old, new := randomPair(rand.New(rand.NewPCG(seed, 99)))
		f := Compute(old, new, Options{})
		ours += f.Additions + f.Deletions
		gits += gitChanged(t, dir, old, new)
	}
	if float64(ours) > 1.02*float64(gits) {
		t.Errorf("we change %d lines, git %d", ours, gits)
	}
}

func gitChanged(t *testing.T, dir string, old, new []byte) int {
	t.Helper()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for name, data := range map[string][]byte{a: old, b: new} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "diff", "--no-index", "--numstat", "--minimal", "--text", a, b)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, _ := cmd.Output() // exit status 1 means that they differ
	var add, del int
	if len(out) > 0 {
		if _, err := fmt.Sscanf(string(out), "%d\t%d", &add, &del); err != nil {
			t.Fatal(err)
		}
	}
	return add + del
}

func FuzzCompute(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("a\nc"), "x.go")
	f.Add([]byte("/* open\n"), []byte("\"a\r\nb\n\xff"), "x.ts")
	f.Add([]byte("a b c d\n"), []byte("a  b x d\n"), "")
	f.Fuzz(func(t *testing.T, old, new []byte, path string) {
		if len(old)+len(new) > 4096 || len(path) > 20 {
			return
		}
		d := Compute(old, new, Options{Path: path})
		checkSpans(t, d)
		if d.Binary {
			return
		}
		if x, y := apply(t, d, old, new); x != string(old) || y != string(new) {
			t.Fatal("the rows do not give back both sides")
		}
		checkSpans(t, Compute(old, new, Options{Path: path, Space: SpaceNone}))
	})
}
