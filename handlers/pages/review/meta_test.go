package review

import (
	"testing"

	"github.com/ahphub/ahphub/hub/changeset"
	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// A file is folded for what its repository says of it, and else for what its name and its first lines tell.
func TestWhatIsFolded(t *testing.T) {
	edited := &diff.File{Hunks: []diff.Hunk{{}}}
	itself := &diff.File{Hunks: []diff.Hunk{{}}, Generated: true}
	for _, c := range []struct {
		name string
		said changeset.Generated
		file *diff.File
		want string
	}{
		{"main.go", "", edited, ""},
		{"main.go", "", itself, "generated"},
		{"main.go", changeset.GeneratedYes, edited, "generated"},
		{"main.go", changeset.GeneratedNo, itself, ""},
		{"go.sum", "", edited, "a lock file"},
		{"go.sum", changeset.GeneratedYes, edited, "a lock file"},
		{"go.sum", changeset.GeneratedNo, edited, ""},
		{"go.sum", "", &diff.File{}, ""},
	} {
		if got := foldedKind(c.name, c.said, c.file); got != c.want {
			t.Errorf("%s, called %q: folded as %q, want %q", c.name, c.said, got, c.want)
		}
	}
}
