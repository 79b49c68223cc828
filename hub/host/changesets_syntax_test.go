package host

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// When a turn ends, ReadSyntax gets both versions of its changed files, in the order of the review.
func TestTurnHandsOverChangedFiles(t *testing.T) {
	loads := make(chan func(context.Context) []diff.Comparison, 8)
	c := newChangingWith(t, Config{ReadSyntax: func(load func(context.Context) []diff.Comparison) { loads <- load }})
	c.turn(func() { c.write("z.go", "z\n"); c.write("a.txt", "one\n2\n"); c.write("blob", "\x00\x01") })
	want := []diff.Comparison{{Path: "a.txt", Old: []byte("one\ntwo\n"), New: []byte("one\n2\n")},
		{Path: "z.go", New: []byte("z\n")}}
	if d := cmp.Diff(want, (<-loads)(t.Context())); d != "" {
		t.Error(d)
	}
	c.turn(func() {})
	c.turn(func() { c.write("z.go", "zz\n") })
	want = []diff.Comparison{{Path: "z.go", Old: []byte("z\n"), New: []byte("zz\n")}}
	if d := cmp.Diff(want, (<-loads)(t.Context())); d != "" {
		t.Error("after a turn that changed nothing:", d)
	}
}
