package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diff lists the differences between two values, one per line; "" for none.
func Diff(got, want any) string {
	var lines []string
	diff(&lines, "", got, want)
	return strings.Join(lines, "\n")
}

func diff(lines *[]string, path string, got, want any) {
	switch g := got.(type) {
	case string, bool, json.Number, nil:
		switch want.(type) {
		case string, bool, json.Number, nil:
			if g == want {
				return
			}
		}
	case object:
		if w, ok := want.(object); ok {
			keys := maps.Clone(g)
			maps.Copy(keys, w)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				diff(lines, path+"/"+k, g[k], w[k])
			}
			return
		}
	case list:
		if w, ok := want.(list); ok && len(w) == len(g) {
			for i := range g {
				diff(lines, fmt.Sprint(path, "/", i), g[i], w[i])
			}
			return
		}
	}
	if g, w := Canonical(got), Canonical(want); g != w {
		*lines = append(*lines, fmt.Sprintf("%s: got %s, want %s", path, shortened(g), shortened(w)))
	}
}

func shortened(s string) string {
	const most = 600
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
