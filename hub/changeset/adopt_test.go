package changeset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// Another session can compare adopted checkpoints, even after the first session is dropped and the
// person's repository is gone.
func TestAdopt(t *testing.T) {
	other := machine.Workspace{Session: "ahp-session:/other"}
	p := newRepo(t)
	from := p.checkpoint()
	p.write("a.txt", "one\ntwo\nthree\nfour\n")
	to := p.checkpoint()
	p.write("new.txt", "not packed yet\n")
	last, err := p.svc.Checkpoint(t.Context(), session, []string{p.dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.svc.Adopt(t.Context(), other, "ahp-session:/none", []string{p.dir}); err != nil {
		t.Errorf("of a session without checkpoints: %v", err)
	}
	for range 2 { // the second time adds nothing
		if err := p.svc.Adopt(t.Context(), other, session.Session, []string{p.dir}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.svc.Drop(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(p.dir, ".git"), filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to machine.Checkpoint
		want     int
	}{"kept": {from, to, 1}, "loose": {to, last, 1}, "both": {from, last, 2}} {
		files, err := p.svc.Compare(t.Context(), other, c.from, c.to)
		if err != nil || len(files) != c.want {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
	}
	if c, err := p.svc.Checkpoint(t.Context(), other, []string{p.dir}); err != nil || p.svc.Keep(t.Context(), other,
		c) != nil {
		t.Errorf("the session that took over goes on: %v", err)
	}
}
