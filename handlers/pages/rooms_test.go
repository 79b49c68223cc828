package pages

import (
	"maps"
	"slices"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

func TestEveryRoomHasARight(t *testing.T) {
	p := New(Deps{})
	defer p.Close()
	if rooms := slices.Sorted(maps.Keys(p.rooms())); !slices.Equal(rooms, access.Rooms()) {
		t.Errorf("the pages have the rooms %q, the table of rights %q", rooms, access.Rooms())
	}
}
