package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const top = "../.."

func TestPageIsCurrent(t *testing.T) {
	want, err := build(top)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(top, page))
	if err != nil || string(have) != want {
		t.Errorf("%s is not current: run go run ./e2e/support and commit it (%v)", page, err)
	}
}

// A requirement with a test has no reason for lacking one.
func TestReasonsAreTrue(t *testing.T) {
	list, err := parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	found, err := cites(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.reason != "" && len(found[r.number]) > 0 {
			t.Errorf("%d has tests (%v), but requirements.txt says it is %s", r.number, found[r.number], r.reason)
		}
	}
}

func TestNumbersOfACitation(t *testing.T) {
	for text, want := range map[string][]int{
		"3": {3}, "3, 5 and 7": {3, 5, 7}, "42–44": {42, 43, 44}, "68 to 70": {68, 69, 70},
		"90 to 92, 102": {90, 91, 92, 102},
	} {
		if got := numbers(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestCitationsBelongToTests(t *testing.T) {
	found := map[int][]string{}
	src := "package x\n\n// TestA keeps AHP requirements 1 and\n// 2.\nfunc TestA() {}\n\nfunc help() { _ = \"AHP " +
		"requirement 3\" }\n"
	if err := citesOf(found, "x/a_test.go", src); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: "x TestA", 2: "x TestA", 3: "x/a_test.go"} {
		if !slices.Equal(found[n], []string{want}) {
			t.Errorf("%d: got %v, want %s", n, found[n], want)
		}
	}
}
