package part

import "testing"

func TestWhereRoundTrip(t *testing.T) {
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
