package review

import (
	"testing"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/machine"
)

// A file is folded because of its repository's attributes, or else because of its name and first lines.
func TestFoldedFiles(t *testing.T) {
	edited := &diff.File{Hunks: []diff.Hunk{{}}}
	itself := &diff.File{Hunks: []diff.Hunk{{}}, Generated: true}
	for _, c := range []struct {
		name string
		said machine.Generated
		file *diff.File
		want string
	}{
		{"main.go", "", edited, ""},
		{"main.go", "", itself, "generated"},
		{"main.go", machine.GeneratedYes, edited, "generated"},
		{"main.go", machine.GeneratedNo, itself, ""},
		{"go.sum", "", edited, "a lock file"},
		{"go.sum", machine.GeneratedYes, edited, "a lock file"},
		{"go.sum", machine.GeneratedNo, edited, ""},
		{"go.sum", "", &diff.File{}, ""},
	} {
		if got := foldedKind(c.name, c.said, c.file); got != c.want {
			t.Errorf("%s, called %q: folded as %q, want %q", c.name, c.said, got, c.want)
		}
	}
}
