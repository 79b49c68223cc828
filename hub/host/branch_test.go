package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/changeset"
)

// What is checked out is told while somebody looks, and at the end of a turn.
func TestTheBranchOfASession(t *testing.T) {
	c := newChanging(t)
	c.git("switch", "-q", "-c", "main")
	stop := c.host.Changes.FollowBranch(session)
	says := func(want Branch) {
		t.Helper()
		c.until("the branch is "+want.Name, func() bool { return ReadBranch(c.session().Meta) == want })
	}
	says(Branch{Name: "main"})
	c.git("switch", "-q", "-c", "fix/it")
	says(Branch{Name: "fix/it"})
	c.git("switch", "-q", "--detach")
	says(Branch{Name: c.gitSays("rev-parse", "--short", "HEAD"), Detached: true})
	c.git("switch", "-q", "-c", strings.Repeat("é", 110))
	c.until("a long name is shown", func() bool { return strings.HasPrefix(ReadBranch(c.session().Meta).Name, "éé") })
	away := filepath.Join(t.TempDir(), "git")
	c.must(os.Rename(filepath.Join(c.dir, ".git"), away))
	says(Branch{})
	c.must(os.Rename(away, filepath.Join(c.dir, ".git")))
	c.until("it is a repository again", func() bool { return ReadBranch(c.session().Meta).Name != "" })
	stop()

	c.turn(func() { c.git("switch", "-q", "main") })
	says(Branch{Name: "main"})
}

func TestALongBranch(t *testing.T) {
	got := branchOf(changeset.CheckedOut{Branch: "\xff" + strings.Repeat("x", 250)})
	if n := utf8.RuneCountInString(got.Name); n != mostBranch || !utf8.ValidString(got.Name) || !strings.HasSuffix(got.Name, "…") {
		t.Errorf("it has %d characters: %q", n, got.Name)
	}
}
