package ahp

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A list behaves like a slice that is copied at each step, at every length near those where its
// tree grows.
func TestListAgainstSlices(t *testing.T) {
	var list List[int]
	var want []int
	older := map[int]List[int]{}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 5000 {
		older[n] = list
		list, want = list.With(n), append(want, n)
		if i := r.IntN(n + 1); i%3 == 0 {
			list = list.Replaced(i, -n)
			want[i] = -n
		}
		if list.Len() != len(want) || list.At(n) != want[n] || list.At(n/2) != want[n/2] || list.At(0) != want[0] {
			t.Fatalf("with %d items: %d, last %d, middle %d, first %d", n+1, list.Len(), list.At(n), list.At(n/2),
				list.At(0))
		}
	}
	if got := list.Slice(); !slices.Equal(got, want) {
		t.Error("a long list has other items than the slice")
	}
	for n, l := range older {
		if l.Len() != n {
			t.Fatalf("the list of %d items has %d after others were made of it", n, l.Len())
		}
	}
}

// A list does not change, whatever is derived from it.
func TestOlderListsStay(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 255, 256, 257, 272, 273, 4096, 4097} {
		items := make([]int, n)
		for i := range items {
			items[i] = i
		}
		l := NewList(slices.Clone(items))
		for i := range min(n, 300) {
			l.Replaced(i, -1)
			l.Replaced(n-1-i, -1)
		}
		a, b := l.With(-2), l.With(-3)
		if !slices.Equal(l.Slice(), items) {
			t.Errorf("a list of %d items changed", n)
		}
		if a.At(n) != -2 || b.At(n) != -3 {
			t.Errorf("two lists made of one of %d items are one", n)
		}
	}
}

// A list is the same whether it grew or was made at once, so states from snapshots and actions
// compare equal.
func TestListsAreTheSameHoweverMade(t *testing.T) {
	var grown List[int]
	var items []int
	for n := range 600 {
		if made := NewList(slices.Clone(items)); n > 0 && !reflect.DeepEqual(grown, made) {
			t.Fatalf("lists of %d items differ", n)
		}
		grown, items = grown.With(n), append(items, n)
	}
	for i, v := range grown.All() {
		if i != v {
			t.Fatalf("item %d is %d", i, v)
		}
		if i == 300 {
			break
		}
	}
}

// Of two streams with one id the later is found, of two tool calls the earlier; ids of one kind do
// not hide the other's.
func TestPartsAreFoundById(t *testing.T) {
	text := func(id, s string) ResponsePart {
		return ResponsePart{&MarkdownResponsePart{ID: id, Content: NewText(s)}}
	}
	call := func(id, tool string) ResponsePart {
		return ResponsePart{&ToolCallResponsePart{ToolCallState{&ToolCallRunningState{ToolCallBase: ToolCallBase{ToolCallID: id, ToolName: tool}}}}}
	}
	var s State = &ChatState{ActiveTurn: &ActiveTurn{ID: "t", ResponseParts: NewParts(
		text("a", "1"), call("a", "first"), text("", "none"), text("a", "2"), call("a", "second"), call("b", "other"))}}
	for i := range 100 {
		s = Reduce(s, &ChatResponsePartAction{TurnID: "t", Part: text(fmt.Sprint(i), "")})
	}
	s = Reduce(s, &ChatDeltaAction{TurnID: "t", PartID: "a", Content: "+"})
	parts := s.(*ChatState).ActiveTurn.ResponseParts
	if got := parts.At(3).Value.(*MarkdownResponsePart).Content.String(); got != "2+" {
		t.Errorf("the later stream says %q", got)
	}
	if got := parts.Call("a").Base().ToolName; got != "first" {
		t.Errorf("the call found is %q", got)
	}
	if parts.Call("7").Value != nil || parts.Call("").Value != nil {
		t.Error("a call was found that is not there")
	}
	if Reduce(s, &ChatDeltaAction{TurnID: "t", PartID: "", Content: "+"}) != s ||
		Reduce(s, &ChatDeltaAction{TurnID: "t", PartID: "b", Content: "+"}) != s {
		t.Error("a delta without a stream changed something")
	}
}
