package live

import (
	"reflect"
	"testing"
)

func TestRegionsSendOnlyWhatChanged(t *testing.T) {
	r := Regions{}
	a, b := ReplaceHTML("a", "one"), ReplaceHTML("b", "two")
	if got := r.Changed(a, b); !reflect.DeepEqual(got, []Patch{a, b}) {
		t.Errorf("new regions are sent as %v", got)
	}
	if got := r.Changed(a, b); got != nil {
		t.Errorf("regions that look the same are sent as %v", got)
	}
	changed := ReplaceHTML("b", "three")
	if got := r.Changed(a, changed); !reflect.DeepEqual(got, []Patch{changed}) {
		t.Errorf("one changed region is sent as %v", got)
	}
	empty := ReplaceHTML("c", "")
	if got := r.Changed(empty); !reflect.DeepEqual(got, []Patch{empty}) {
		t.Errorf("a new region without HTML is sent as %v", got)
	}
}

func TestListRegionsRemoveMissingItems(t *testing.T) {
	r := Regions{}
	item := func(id, html string) Item { return Item{id, Patch{Op: OpAppend, ID: "list", HTML: html}} }
	one, two := item("1", "one"), item("2", "two")
	if got := r.ChangedItems(one, two); !reflect.DeepEqual(got, []Patch{one.Patch, two.Patch}) {
		t.Errorf("a new list is sent as %v", got)
	}
	if got := r.ChangedItems(one, two); got != nil {
		t.Errorf("a list that looks the same is sent as %v", got)
	}
	other := item("2", "other")
	if got := r.ChangedItems(other); !reflect.DeepEqual(got, []Patch{Remove("1"), other.Patch}) {
		t.Errorf("a list that lost one and changed one is sent as %v", got)
	}
	if got := r.ChangedItems(one, other); !reflect.DeepEqual(got, []Patch{one.Patch}) {
		t.Errorf("an element that came back is sent as %v", got)
	}
}
