package live

// mostNumbers is how many numbers a numberSet remembers.
const mostNumbers = 10_000

// numberSet remembers numbers of a sequence. To stay bounded, it forgets old ones and reports them all as members: what
// they number has long ended. The zero value is an empty set.
type numberSet struct {
	newest uint64
	slots  map[uint64]uint64 // by the remainder of division by mostNumbers
}

func (s *numberSet) add(n uint64) {
	if s.slots == nil {
		s.slots = map[uint64]uint64{}
	}
	s.slots[n%mostNumbers] = max(s.slots[n%mostNumbers], n)
	s.newest = max(s.newest, n)
}

// has reports whether n was added, or is so old that it may have been.
func (s *numberSet) has(n uint64) bool {
	return s.slots[n%mostNumbers] == n && n > 0 || n+mostNumbers <= s.newest
}
