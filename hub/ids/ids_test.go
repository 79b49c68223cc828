package ids_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub/ids"
)

func TestIDsAreUniqueAndHaveTheirShape(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func() string
		shape string
	}{
		{"New", ids.New, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"NewShort", ids.NewShort, `^[0-9a-f]{12}$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape, seen := regexp.MustCompile(c.shape), map[string]bool{}
			for range 1000 {
				id := c.make()
				if !shape.MatchString(id) || seen[id] {
					t.Fatalf("%q is malformed or was made before", id)
				}
				seen[id] = true
			}
		})
	}
}

func TestNewSortsByTime(t *testing.T) {
	list := make([]string, 1000)
	for i := range list {
		list[i] = ids.New()
	}
	if !slices.IsSorted(list) {
		t.Error("ids made one after the other are not in order")
	}
}
