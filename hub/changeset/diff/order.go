package diff

import "strings"

// ComparePaths orders files as a review shows them: those of a directory before those of its subdirectories'
// neighbours, so that they have the order of the tree, by directory, then name.
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
