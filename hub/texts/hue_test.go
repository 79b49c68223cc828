package texts

import (
	"strconv"
	"testing"
)

func TestHueIsOfEight(t *testing.T) {
	seen := map[int]bool{}
	for i := range 200 {
		h := Hue("link-" + strconv.Itoa(i))
		if h < 0 || h >= Hues || h != Hue("link-"+strconv.Itoa(i)) {
			t.Fatalf("the hue of %d is %d", i, h)
		}
		seen[h] = true
	}
	if len(seen) != Hues {
		t.Errorf("200 people have %d colours", len(seen))
	}
}
