package changeset

import (
	"strings"
	"testing"
)

func (p *place) branch() (string, error) {
	p.t.Helper()
	base, err := p.svc.Branch(p.t.Context(), session, []string{p.dir})
	if err != nil {
		return "", err
	}
	files, err := p.svc.Compare(p.t.Context(), session, base, p.checkpoint())
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, string(rune(f.Status))+" "+f.Path)
	}
	return strings.Join(out, "; "), nil
}

// A branch's changes, committed or not, are relative to its merge base; later changes of the
// default branch are excluded.
func TestBranchIsComparedWithItsMergeBase(t *testing.T) {
	p := newRepo(t)
	p.git("checkout", "-q", "-b", "feature")
	p.write("new.txt", "new\n")
	p.commit()
	p.git("checkout", "-q", "main")
	p.write("a.txt", "main went on\n")
	p.commit()
	p.git("checkout", "-q", "feature")
	p.write("sub/b.txt", "not committed\n")
	if got, err := p.branch(); err != nil || got != "A new.txt; M sub/b.txt" {
		t.Errorf("%q %v", got, err)
	}
	p.git("fsck", "--strict")
}

func TestBranchWithoutADefault(t *testing.T) {
	p := newRepo(t)
	p.git("branch", "-m", "main", "elsewhere")
	if _, err := p.branch(); err == nil || !strings.Contains(err.Error(), "no default branch") {
		t.Errorf("got %v", err)
	}
	p.git("update-ref", "refs/remotes/origin/develop", "HEAD")
	p.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
	p.write("a.txt", "mine\n")
	if got, err := p.branch(); err != nil || got != "M a.txt" {
		t.Errorf("by the remote's head: %q %v", got, err)
	}
	p.git("checkout", "-q", "--orphan", "alone")
	p.git("commit", "-q", "-m", "alone")
	if _, err := p.branch(); err == nil || !strings.Contains(err.Error(), "in common") {
		t.Errorf("an unrelated branch: %v", err)
	}
}

func TestBranchOfNoRepository(t *testing.T) {
	p := newPlace(t)
	p.write("x", "x\n")
	if got, err := p.branch(); err != nil || got != "A x" {
		t.Errorf("%q %v", got, err)
	}
}
