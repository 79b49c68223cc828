//go:build unix

package changeset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// A repository that is configured to fetch missing objects with a program never does so for a look.
func TestReadsUseNoTransport(t *testing.T) {
	p := newRepo(t)
	trap := filepath.Join(t.TempDir(), "fetched")
	p.git("config", "extensions.partialClone", "origin")
	p.git("config", "core.repositoryFormatVersion", "1")
	p.git("config", "remote.origin.promisor", "true")
	p.git("config", "remote.origin.url", "ext::sh -c touch% "+trap)
	p.git("config", "protocol.ext.allow", "always")
	tree := p.git("rev-parse", "HEAD^{tree}")
	object := p.path(".git/objects/" + tree[:2] + "/" + tree[2:])
	was, err := os.ReadFile(object)
	p.mustSucceed(err)
	p.mustSucceed(os.Remove(object))
	_, _ = p.svc.Uncommitted(t.Context(), session, []string{p.dir}) // may fail, but fetches nothing
	_, _ = p.svc.Branch(t.Context(), session, []string{p.dir})
	p.mustSucceed(os.WriteFile(object, was, 0o400))
	src, err := p.svc.locate(t.Context(), session, p.dir)
	p.mustSucceed(err)
	if _, err := p.svc.theirs(t.Context(), src, "ls-remote", "origin"); err == nil {
		t.Error("what reads may reach a remote")
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a look ran what the repository names as its remote")
	}
}

// Hooks of a commit are the person's own and may push, as in a terminal.
func TestHooksOfACommitMayPush(t *testing.T) {
	p := newRepo(t)
	p.identity()
	mirror := filepath.Join(t.TempDir(), "mirror.git")
	p.gitIn(t.TempDir(), "init", "-q", "--bare", mirror)
	p.git("remote", "add", "mirror", mirror)
	p.hook("pre-push", "touch '"+filepath.Join(filepath.Dir(mirror), "asked")+"'")
	p.hook("post-commit", "git push -q mirror HEAD:refs/heads/main")
	p.write("a.txt", "changed\n")
	done, err := p.commitWith(machine.Commit{Message: "pushed", Name: "Ana"})
	p.mustSucceed(err)
	if got := p.gitIn(mirror, "log", "-1", "--format=%s", "main"); got != "pushed" {
		t.Errorf("the mirror has %q after the commit %s", got, done.ID)
	}
	p.mustSucceed(os.Remove(filepath.Join(filepath.Dir(mirror), "asked")))
}
