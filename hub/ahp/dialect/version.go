package dialect

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is MAJOR.MINOR.PATCH (AHP requirement 24).
type Version struct{ Major, Minor, Patch int }

// Parse parses MAJOR.MINOR.PATCH; nothing may follow.
func Parse(s string) (Version, error) {
	parts := strings.Split(s, ".")
	var n [3]int
	ok := len(parts) == 3
	for i := 0; ok && i < 3; i++ {
		var err error
		n[i], err = strconv.Atoi(parts[i])
		ok = err == nil && strconv.Itoa(n[i]) == parts[i] && n[i] >= 0
	}
	if !ok {
		return Version{}, fmt.Errorf("%q is not a version: write MAJOR.MINOR.PATCH", s)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// mustParse parses a version in the source code.
func mustParse(s string) Version {
	v, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return v
}

// Compare returns -1 if v is before w, 0 if they are equal, and 1 if v is after w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }
