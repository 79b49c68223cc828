package live

import "testing"

func TestNumberSetStaysBounded(t *testing.T) {
	var s numberSet
	if s.has(0) || s.has(1) {
		t.Error("an empty set has a number")
	}
	for n := uint64(1); n <= 3*mostNumbers; n += 2 {
		s.add(n)
		if !s.has(n) || s.has(n+1) {
			t.Fatalf("after %d was added, the set has it: %v, and the next one: %v", n, s.has(n), s.has(n+1))
		}
	}
	if len(s.slots) > mostNumbers {
		t.Errorf("%d numbers are kept", len(s.slots))
	}
	if !s.has(1) || !s.has(2) {
		t.Error("an old number is not taken as added")
	}
}
