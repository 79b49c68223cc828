package quota

import (
	"errors"
	"testing"
)

func TestPoolBoundsHoldersGroupsAndTheProcess(t *testing.T) {
	p := New(Limits{Account: 10, Guest: 3, Group: 5, Total: 14})
	owner, ana, bo := Holder{ID: "owner"}, Holder{"ana", "link"}, Holder{"bo", "link"}
	for i, step := range []struct {
		who  Holder
		n    int64
		want error
	}{
		{ana, 4, ErrHolder}, {ana, 3, nil}, {ana, 1, ErrHolder}, {bo, 3, ErrGroup}, {bo, 2, nil},
		{owner, 11, ErrHolder}, {owner, 10, ErrTotal}, {owner, 9, nil}, {Holder{ID: "cy"}, 1, ErrTotal},
	} {
		if err := p.Take(step.who, step.n); !errors.Is(err, step.want) {
			t.Errorf("step %d: taking %d for %v: got %v, want %v", i, step.n, step.who, err, step.want)
		}
	}
	if err := p.Move(owner, bo, 9); !errors.Is(err, ErrHolder) {
		t.Errorf("more than a guest may hold was moved to one: %v", err)
	}
	cy := Holder{"cy", "link"}
	if err := p.Move(ana, cy, 3); err != nil {
		t.Errorf("moving within a full group: %v", err)
	}
	p.Return(cy, 3)
	p.Return(bo, 2)
	p.Return(owner, 9)
	if p.Used() != 0 || len(p.holders) != 0 || len(p.groups) != 0 {
		t.Errorf("after everything was returned: %d used, holders %v, groups %v", p.Used(), p.holders, p.groups)
	}
	var none *Pool
	if none.Take(ana, 1<<40) != nil || none.Used() != 0 {
		t.Error("no pool refuses something")
	}
}
