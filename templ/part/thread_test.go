package part

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestWhereReadsWhatItWrites(t *testing.T) {
	for _, c := range []struct {
		side     Side
		from, to int
		text     string
	}{{After, 12, 12, "R12"}, {Before, 3, 9, "L3-L9"}, {After, 0, 0, ""}} {
		if got := Where(c.side, c.from, c.to); got != c.text {
			t.Errorf("Where = %q, want %q", got, c.text)
		}
		if side, from, to, ok := ParseWhere(c.text); !ok || side != c.side || from != c.from || to != c.to {
			t.Errorf("ParseWhere(%q) = %v %d %d %v", c.text, side, from, to, ok)
		}
	}
	for _, bad := range []string{"R", "12", "R0", "R5-R3", "R3-L4", "R-1", "R99999999999999999999", "<script>"} {
		if _, _, _, ok := ParseWhere(bad); ok {
			t.Errorf("ParseWhere accepts %q", bad)
		}
	}
}

func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"R12", "L3-L9", "", "R1-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		side, from, to, ok := ParseWhere(s)
		if !ok {
			return
		}
		if s2, f2, t2, ok2 := ParseWhere(Where(side, from, to)); !ok2 || s2 != side || f2 != from || t2 != to {
			t.Errorf("%q does not survive", s)
		}
	})
}

func TestAnchorFollowsLines(t *testing.T) {
	text := []string{"a", "b", "same", "c", "same", "d"}
	for _, c := range []struct {
		name     string
		from, to int
		quote    string
		want     int
		ok       bool
	}{
		{"in place", 2, 2, "b", 2, true},
		{"moved down", 1, 1, "d", 6, true},
		{"nearest of two", 6, 6, "same", 5, true},
		{"a range", 1, 2, "same\nd", 5, true},
		{"only the indent changed", 4, 4, "\tc", 4, true},
		{"gone", 2, 2, "nowhere", 0, false},
		{"no quote", 3, 3, "", 3, true},
		{"no quote, past the end", 30, 30, "", 30, false},
	} {
		if from, _, ok := Anchor(text, c.from, c.to, c.quote); from != c.want || ok != c.ok {
			t.Errorf("%s: line %d %v, want %d %v", c.name, from, ok, c.want, c.ok)
		}
	}
}

// Over a thousand random edits no thread is lost: it is on a line with its text, or known to be outdated; and of
// lines that survive, at least 95 of 100 are found where they went.
func TestAnchorSurvivesRandomEdits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	survived, matched := 0, 0
	for range 1000 {
		lines, ids := make([]string, 60), make([]int, 60)
		for i := range lines {
			lines[i], ids[i] = "line "+strconv.Itoa(rng.IntN(300)), i // some repeat, as braces do
		}
		at := rng.IntN(len(lines))
		quote, id := lines[at], ids[at]
		for range 1 + rng.IntN(12) {
			i := rng.IntN(len(lines))
			if rng.IntN(2) == 0 && len(lines) > 20 {
				lines, ids = append(lines[:i:i], lines[i+1:]...), append(ids[:i:i], ids[i+1:]...)
			} else {
				lines = append(lines[:i:i], append([]string{"new " + strconv.Itoa(rng.IntN(1000))}, lines[i:]...)...)
				ids = append(ids[:i:i], append([]int{-1}, ids[i:]...)...)
			}
		}
		from, _, ok := Anchor(lines, at+1, at+1, quote)
		if ok && lines[from-1] != quote {
			t.Fatalf("a thread on %q stands on %q", quote, lines[from-1])
		}
		for i, x := range ids {
			if x == id {
				survived++
				if ok && from == i+1 {
					matched++
				}
			}
		}
	}
	if matched*100 < survived*95 {
		t.Errorf("%d of %d surviving lines were matched", matched, survived)
	}
}
