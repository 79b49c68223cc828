package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/machine"
)

// elsewhere creates a repository outside every session, with an uncommitted change.
func (c *changing) elsewhere() (dir string) {
	c.t.Helper()
	dir, err := filepath.EvalSymlinks(c.t.TempDir())
	c.must(err)
	for _, step := range []string{
		"git init -q", "echo secret > secret.txt", "git add -A",
		"git -c user.name=Ana -c user.email=ana@example.org commit -qm secret", "echo changed > secret.txt",
	} {
		cmd := exec.Command("sh", "-c", step)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			c.t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	return dir
}

// asks waits for the request to the owner whether a repository may lead outside.
func (c *changing) asks() files.FileAsk {
	c.t.Helper()
	c.until("the owner is asked", func() bool { return len(c.host.Files.FileAsks()) == 1 })
	return c.host.Files.FileAsks()[0]
}

func (c *changing) failsBy(uri ahp.URI, name string) {
	c.t.Helper()
	c.until("the changes say that "+name+" leads elsewhere", func() bool {
		s := c.changes(uri)
		return s.Status == ahp.ChangesetStatusError && s.Error != nil &&
			strings.Contains(s.Error.Message, name+" leads to a place outside")
	})
}

// A viewer's changes never show files of another directory, whatever the repository's settings,
// unless the owner allows it, and no longer after a revocation.
func TestViewerCannotSeeWhereRepositoryLeads(t *testing.T) {
	var told []string
	c := newChangingWith(t, Config{FilesAsked: func(_ *hub.Tx, a files.FileAsk) { told = append(told, a.Words()) }})
	other := c.elsewhere()
	c.git("config", "core.worktree", other)
	viewer := core.Caller{ClientID: "vic",
		Principal: access.Principal{ID: "guest:vic", Role: access.RoleViewer, Session: session, Link: "link"}}
	uri := changes.URI(session, "uncommitted", "")
	c.must(c.host.Prepare(t.Context(), viewer, uri))
	c.failsBy(uri, filepath.Join(c.dir, ".git", "config"))
	if s := c.changes(uri); len(s.Files) != 0 || strings.Contains(s.Error.Message, other) {
		t.Errorf("a viewer is shown %v, %+v", s.Files, s.Error)
	}
	if b := worktrees.ReadBranch(c.session().Meta); b.Name != "" {
		t.Errorf("what is checked out there is shown: %+v", b)
	}

	ask := c.asks()
	if ask.Path != other || ask.Repository != filepath.Join(c.dir, ".git", "config") {
		t.Errorf("the owner is asked %+v", ask)
	}
	_, err := c.host.Files.AnswerFileAsk(viewer, ask.ID, true)
	wantCode(t, err, ahp.CodePermissionDenied)
	_, err = c.host.Files.AnswerFileAsk(c.owner, ask.ID, true)
	c.must(err)
	c.until("what was allowed shows", func() bool { return strings.Contains(c.lines(uri), "secret.txt") })
	secret := ahp.ResourceReadParams{URI: core.FileURI(filepath.Join(other, "secret.txt"))}
	if _, err := c.host.Files.ResourceRead(t.Context(), viewer, secret); err == nil {
		t.Error("files that git may go to are open to guests")
	}

	_, err = c.host.Files.RevokeFiles(c.owner, c.host.Files.FileGrants()[0].ID)
	c.must(err)
	c.failsBy(uri, filepath.Join(c.dir, ".git", "config"))
	if len(told) == 0 || strings.Contains(strings.Join(told, "\n"), "/") {
		t.Errorf("the owner is told %q, which is no line without a path", told)
	}
}

// After a denial, the owner is not asked again. A request is dropped when the repository no longer
// leads outside.
func TestRepositoryQuestionsEnd(t *testing.T) {
	c := newChanging(t)
	alternates := filepath.Join(c.dir, ".git", "objects", "info", "alternates")
	c.must(os.WriteFile(alternates, []byte(filepath.Join(c.elsewhere(), ".git", "objects")+"\n"), 0o600))
	uri := changes.URI(session, "uncommitted", "")
	c.must(c.host.Prepare(t.Context(), c.owner, uri))
	c.failsBy(uri, alternates)
	_, err := c.host.Files.AnswerFileAsk(c.owner, c.asks().ID, false)
	c.must(err)
	c.isRefused()
	if asks := c.host.Files.FileAsks(); len(asks) != 0 {
		t.Errorf("the owner is asked again: %+v", asks)
	}

	c.must(os.WriteFile(alternates, []byte(filepath.Join(c.elsewhere(), ".git", "objects")+"\n"), 0o600))
	c.host.Changes.Refresh(session)
	c.asks()
	c.must(os.Remove(alternates))
	c.host.Changes.Refresh(session)
	c.until("the question is gone", func() bool { return len(c.host.Files.FileAsks()) == 0 })
	c.shows(uri, "")

	for range 2 * files.MostRepositoryAsksOne { // however often it leads outside
		c.must(os.WriteFile(alternates, []byte(filepath.Join(c.elsewhere(), ".git", "objects")+"\n"), 0o600))
		c.isRefused()
	}
	if n := len(c.host.Files.FileAsks()); n != files.MostRepositoryAsksOne {
		t.Errorf("one session asks %d questions", n)
	}
}

// isRefused checks that a repository that leads outside is refused again.
func (c *changing) isRefused() {
	c.t.Helper()
	_, err := c.host.git.Head(c.t.Context(), session, []string{c.dir})
	if _, outside := errors.AsType[*machine.OutsideError](err); !outside {
		c.t.Errorf("got %v", err)
	}
}

// A repository cannot lead to files that are closed to all clients, and the owner is not asked.
func TestRepositoryCannotLeadToTheHostsData(t *testing.T) {
	c := newChanging(t)
	uri := changes.URI(session, "uncommitted", "")
	for _, to := range []string{"/", "/proc", c.host.cfg.DataDir} {
		c.git("config", "core.worktree", to)
		c.must(c.host.Prepare(t.Context(), c.owner, uri))
		c.host.Changes.Follow(uri)
		c.host.Changes.Refresh(session)
		c.failsBy(uri, filepath.Join(c.dir, ".git", "config"))
		if asks := c.host.Files.FileAsks(); len(asks) != 0 {
			t.Errorf("the owner is asked whether it may lead to %s", to)
		}
	}
}
