package diff

import "strings"

// ComparePaths orders files like the tree of a review: by directory, then name.
func ComparePaths(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := 0; i < len(x) && i < len(y); i++ {
		if lastX, lastY := i == len(x)-1, i == len(y)-1; lastX != lastY {
			if lastX {
				return 1
			}
			return -1
		}
		if c := strings.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return len(x) - len(y)
}
