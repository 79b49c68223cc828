package review

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func numbered(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("line number %d", i+1))
	}
	return lines
}

func TestReanchor(t *testing.T) {
	ten := numbered(10)
	insert := func(at int, text ...string) []string { return slices.Insert(slices.Clone(ten), at, text...) }
	cases := []struct {
		name     string
		old, new []string
		r, want  Range
		state    State
	}{
		{"nothing changed", ten, ten, Range{4, 5}, Range{4, 5}, Exact},
		{"ten lines above", ten, slices.Insert(slices.Clone(ten), 0, slices.Repeat([]string{"x"}, 10)...), Range{4, 5},
			Range{14, 15}, Moved},
		{"a change below", ten, insert(9, "x"), Range{4, 5}, Range{4, 5}, Exact},
		{"a line inside", ten, insert(4, "x"), Range{4, 5}, Range{4, 6}, Moved},
		{"half of it gone", ten, slices.Delete(slices.Clone(ten), 3, 4), Range{4, 5}, Range{4, 4}, Moved},
		{"gone", ten, slices.Delete(slices.Clone(ten), 3, 5), Range{4, 5}, Range{4, 4}, Outdated},
		{"gone with everything after it", ten, ten[:3], Range{9, 9}, Range{3, 3}, Outdated},
		{"all gone", ten, nil, Range{4, 5}, Range{1, 1}, Outdated},
		{"moved to the end", ten, append(slices.Delete(slices.Clone(ten), 3, 4), ten[3]), Range{4, 4}, Range{10, 10},
			Moved},
		{"a brace is not followed", []string{"}", "one", "two"}, []string{"one", "two", "}"}, Range{1, 1}, Range{1, 1},
			Outdated},
		{"past the end", ten, ten, Range{50, 60}, Range{10, 10}, Exact},
		{"new file", nil, ten, Range{1, 1}, Range{1, 1}, Outdated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, state := Reanchor(c.old, c.new, c.r)
			if got != c.want || state != c.state {
				t.Errorf("got %v %s, want %v %s", got, state, c.want, c.state)
			}
		})
	}
}

// TestThousandEdits comments on every line of a file that is edited at random, a thousand times: no
// comment is lost, and of the lines whose text is unique in the new version at least 95 in 100 are
// found there.
func TestThousandEdits(t *testing.T) {
	surviving, matched := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		old := source(r)
		new := editAtRandom(r, old)
		for i, text := range old {
			at, state := Reanchor(old, new, Range{i + 1, i + 1})
			if at.From < 1 || at.To < at.From || at.To > max(1, len(new)) {
				t.Fatalf("seed %d: line %d is lost: %v %s in %d lines", seed, i+1, at, state, len(new))
			}
			if state != Outdated && (at.From != at.To || new[at.From-1] != text) {
				t.Fatalf("seed %d: line %d %q is said to be %q", seed, i+1, text, new[at.From-1])
			}
			if found, state := Find(new, text, Range{i + 1, i + 1}); text != "" && count(new, text) == 1 &&
				(state == Outdated || new[found.From-1] != text) {
				t.Fatalf("seed %d: %q, which stands once, is not found by its text", seed, text)
			}
			if count(new, text) == 1 {
				surviving++
				if state != Outdated {
					matched++
				}
			}
		}
	}
	if share := float64(matched) / float64(surviving); share < 0.95 {
		t.Errorf("%.2f %% of %d surviving lines were matched", 100*share, surviving)
	} else {
		t.Logf("%.2f %% of %d surviving lines were matched", 100*share, surviving)
	}
}

func count(lines []string, text string) (n int) {
	for _, l := range lines {
		if l == text {
			n++
		}
	}
	return n
}

// source resembles a program: most lines are unique, some are braces and blanks.
func source(r *rand.Rand) (lines []string) {
	for i := range 10 + r.IntN(50) {
		switch r.IntN(6) {
		case 0:
			lines = append(lines, "")
		case 1:
			lines = append(lines, "}")
		case 2:
			lines = append(lines, "\treturn nil")
		default:
			lines = append(lines, fmt.Sprintf("\tvalue%d := compute(%d)", i, r.IntN(1000)))
		}
	}
	return lines
}

func editAtRandom(r *rand.Rand, old []string) []string {
	lines := slices.Clone(old)
	for range 1 + r.IntN(8) {
		at := r.IntN(len(lines) + 1)
		n := min(r.IntN(6), len(lines)-at)
		switch r.IntN(4) {
		case 0: // insert
			lines = slices.Insert(lines, at, source(r)[:1+r.IntN(9)]...)
		case 1: // delete
			lines = slices.Delete(lines, at, at+n)
		case 2: // change
			for i := at; i < at+n; i++ {
				lines[i] += " // changed"
			}
		default: // move
			block := slices.Clone(lines[at : at+n])
			lines = slices.Delete(lines, at, at+n)
			lines = slices.Insert(lines, r.IntN(len(lines)+1), block...)
		}
	}
	return lines
}

func TestFind(t *testing.T) {
	lines := Lines("a := 1\r\nb := 2\n}\na := 1\n\tb := 2\n}\n")
	cases := []struct {
		quote string
		near  Range
		want  Range
		state State
	}{
		{"a := 1\nb := 2", Range{1, 2}, Range{1, 2}, Exact},
		{"a := 1\nb := 2", Range{5, 6}, Range{1, 2}, Moved},
		{"c := 3", Range{2, 2}, Range{2, 2}, Outdated},
		{"b := 2", Range{1, 1}, Range{2, 2}, Moved},
		{"\t\tb := 2", Range{4, 4}, Range{5, 5}, Moved},
		{"gone with the wind\n\t}", Range{1, 2}, Range{1, 2}, Outdated},
		{"", Range{99, 99}, Range{6, 6}, Outdated},
	}
	for _, c := range cases {
		if got, state := Find(lines, c.quote, c.near); got != c.want || state != c.state {
			t.Errorf("%q near %v: %v %s, want %v %s", c.quote, c.near, got, state, c.want, c.state)
		}
	}
}

func FuzzReanchor(f *testing.F) {
	f.Add("a\nb\nc", "a\nc", 2, 2)
	f.Add("", "x", 0, -3)
	f.Fuzz(func(t *testing.T, old, new string, from, to int) {
		lines := Lines(new)
		got, _ := Reanchor(Lines(old), lines, Range{from, to})
		if got.From < 1 || got.To < got.From || got.To > max(1, len(lines)) {
			t.Fatalf("%v is not within %d lines", got, len(lines))
		}
	})
}
