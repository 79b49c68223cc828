package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// The branch is published while a page follows it, and at the end of a turn.
func TestTheBranchOfASession(t *testing.T) {
	c := newChanging(t)
	c.git("switch", "-q", "-c", "main")
	stop := c.host.Worktrees.FollowBranch(session)
	says := func(want worktrees.Branch) {
		t.Helper()
		c.until("the branch is "+want.Name, func() bool { return worktrees.ReadBranch(c.session().Meta) == want })
	}
	says(worktrees.Branch{Name: "main"})
	c.git("switch", "-q", "-c", "fix/it")
	says(worktrees.Branch{Name: "fix/it"})
	c.git("switch", "-q", "--detach")
	says(worktrees.Branch{Name: c.gitSays("rev-parse", "--short", "HEAD"), Detached: true})
	c.git("switch", "-q", "-c", strings.Repeat("é", 110))
	c.until("a long name is shown", func() bool {
		return strings.HasPrefix(worktrees.ReadBranch(c.session().Meta).Name,
			"éé")
	})
	away := filepath.Join(t.TempDir(), "git")
	c.must(os.Rename(filepath.Join(c.dir, ".git"), away))
	says(worktrees.Branch{})
	c.must(os.Rename(away, filepath.Join(c.dir, ".git")))
	c.until("it is a repository again", func() bool { return worktrees.ReadBranch(c.session().Meta).Name != "" })
	stop()

	c.turn(func() { c.git("switch", "-q", "main") })
	says(worktrees.Branch{Name: "main"})
}
