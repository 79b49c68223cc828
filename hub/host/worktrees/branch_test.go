package worktrees

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestCutLongBranchName(t *testing.T) {
	got := newBranch(machine.CheckedOut{Branch: "\xff" + strings.Repeat("x", 250)})
	if n := utf8.RuneCountInString(got.Name); n != mostBranch || !utf8.ValidString(got.Name) ||
		!strings.HasSuffix(got.Name, "…") {
		t.Errorf("it has %d characters: %q", n, got.Name)
	}
}
