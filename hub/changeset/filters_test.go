package changeset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

// newFiltered returns a place that has a file with a configured filter that reverses it, and
// reports whether the filter ran.
func newFiltered(t *testing.T) (p *place, ran func() bool) {
	p = newRepo(t)
	p.identity()
	trap := filepath.Join(t.TempDir(), "ran")
	p.write(".gitattributes", "*.up filter=up\n")
	p.git("config", "filter.up.clean", "touch '"+trap+"'; tr a-z A-Z")
	p.git("config", "filter.up.smudge", "touch '"+trap+"'; tr A-Z a-z")
	p.write("f.up", "one\ntwo\n")
	p.commit()
	return p, func() bool {
		_, err := os.Stat(trap)
		_ = os.Remove(trap)
		return err == nil
	}
}

// A filter runs when a person stages, as for git add, but never for a look.
func TestFiltersRunForPeopleAlone(t *testing.T) {
	p, ran := newFiltered(t)
	ran()
	p.write("f.up", "one\n2\n")
	// older than the index, so that git need not read it again
	p.mustSucceed(os.Chtimes(p.path("f.up"), time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)))
	p.uncommitted()
	p.want(p.staged())
	p.refused("lines", func() error { return p.stage("f.up", &machine.Lines{From: 2, To: 2}) }, `uses the filter "up"`)
	p.refused("discarding", func() error { _, err := p.discard("f.up", nil); return err }, "--trust-filters")
	if ran() {
		t.Fatal("a filter ran on a look")
	}
	p.mustSucceed(p.stage("f.up", nil))
	if !ran() || p.indexed("f.up") != "ONE\n2\n" {
		t.Errorf("staging without the filter: %q", p.indexed("f.up"))
	}
	p.want(p.staged(), "f.up all")
	_, err := p.commitWith(machine.Commit{Message: "x", Name: "Ana"})
	p.mustSucceed(err)
}

func TestTrustedFilters(t *testing.T) {
	p, ran := newFiltered(t)
	p.write("f.up", "one\n2\nthree\n")
	// the stored version differs from the file
	p.want(summary(func() []machine.ChangedFile { _, f := p.uncommitted(); return f }()), "M f.up +3 −2")
	p.svc = New(Config{Dir: p.data, TrustFilters: []string{filepath.Dir(p.dir)}})
	ran()
	_, files := p.uncommitted()
	if p.want(summary(files), "M f.up +2 −1"); !ran() {
		t.Error("the filter of a trusted repository did not run")
	}
	if got := p.content(files[0].NewOID); got != "ONE\n2\nTHREE\n" {
		t.Errorf("it is stored as %q", got)
	}
	p.mustSucceed(p.stage("f.up", &machine.Lines{From: 2, To: 2}))
	if got := p.indexed("f.up"); got != "ONE\n2\n" {
		t.Errorf("the index has %q", got)
	}
	p.mustSucceed(p.unstage("f.up", nil))
	if _, err := p.discard("f.up", nil); err != nil || p.read("f.up") != "one\ntwo\n" {
		t.Errorf("discarding left %q, %v", p.read("f.up"), err)
	}
	if strings.Contains(p.git("status", "--porcelain"), "f.up") {
		t.Error("git sees a change still")
	}
}

// A sandboxed session's programs can write the repository's configuration, so only the person's own
// counts.
func TestTrustedFiltersOfSandboxAreThePersonsOwn(t *testing.T) {
	p, ran := newFiltered(t)
	p.svc = New(Config{Dir: p.data, TrustFilters: []string{filepath.Dir(p.dir)}})
	ws := session
	ws.Sandboxed = true
	look := func() []machine.ChangedFile {
		files, err := p.svc.Uncommitted(t.Context(), ws, []string{p.dir})
		p.mustSucceed(err)
		return files
	}
	ran()
	p.write("f.up", "one\n2\nthree\n")
	if look(); ran() {
		t.Error("a filter ran that a program in the sandbox can have configured")
	}
	own := filepath.Join(t.TempDir(), "gitconfig")
	p.mustSucceed(os.WriteFile(own, []byte("[filter \"up\"]\nclean = tr a-z A-Z\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", own)
	p.write("f.up", "one\n2\nthree\nfour\n")
	if got := summary(look()); len(got) != 1 || got[0] != "M f.up +3 −1" || ran() {
		t.Errorf("with the person's own filter: %v", got)
	}
}

// A program of the session may replace git's index or its directory with a link.
func TestIndexBesideFollowsNoLink(t *testing.T) {
	p := newRepo(t)
	p.identity()
	p.write("a.txt", "edited\n")
	outside := filepath.Join(t.TempDir(), "git")
	p.hook("pre-commit", "rm .git/index; ln -s /etc/passwd .git/index\n")
	tops, files := p.uncommitted()
	_, err := p.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "x", Name: "Ana"})
	if info, lstat := os.Lstat(p.path(".git/index")); lstat != nil || info.Mode()&os.ModeSymlink == 0 || err == nil {
		t.Errorf("the link was followed or replaced: %v, %v", err, lstat)
	}
	p.mustSucceed(os.Remove(p.path(".git/index")))
	p.git("reset", "-q")

	p.write("a.txt", "edited again\n")
	p.hook("pre-commit", "cp -r .git '"+outside+"'\n")
	p.hook("post-commit", "mv .git moved; ln -s '"+outside+"' .git\n")
	tops, files = p.uncommitted()
	_, _ = p.svc.Commit(t.Context(), session, tops, files, machine.Commit{Message: "y", Name: "Ana"})
	p.mustSucceed(os.Remove(p.path(".git")))
	p.mustSucceed(os.Rename(p.path("moved"), p.path(".git")))
	before, err := os.ReadFile(filepath.Join(outside, "index"))
	p.mustSucceed(err)
	after, err := os.ReadFile(p.path(".git/index"))
	p.mustSucceed(err)
	if string(before) == string(after) {
		t.Error("the index was written by way of the link")
	}
}
