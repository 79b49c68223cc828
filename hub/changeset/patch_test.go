package changeset

import (
	"os"
	"testing"
)

// A downloaded patch turns the old files into the new ones, for every kind of change.
func TestPatchMakesTheNewFiles(t *testing.T) {
	p := newRepo(t)
	p.write("blob", "\x00\x01binary")
	p.commit()
	from := p.checkpoint()
	p.write("a.txt", "one\ntwo\nthree, without an end")
	p.write("blob", "\x00\x02other")
	p.write("new dir/é.txt", "new\r\n")
	p.remove("sub/b.txt")
	if err := os.Symlink("a.txt", p.path("link")); err != nil {
		t.Fatal(err)
	}
	to := p.checkpoint()
	patch, err := p.svc.Patch(t.Context(), session, from, to)
	if err != nil {
		t.Fatal(err)
	}
	p.git("checkout", "-q", "--", ".")
	p.git("clean", "-fdq")
	file := t.TempDir() + "/change.patch"
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	p.git("apply", "--check", file)
	p.git("apply", file)
	if now := p.checkpoint(); now.Trees[0].OID != to.Trees[0].OID {
		t.Errorf("the patch makes something else:\n%s", patch)
	}
	p.git("fsck", "--strict")
	if none, err := p.svc.Patch(t.Context(), session, to, to); err != nil || len(none) != 0 {
		t.Errorf("no change: %q %v", none, err)
	}
}
