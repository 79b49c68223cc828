package changeset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestEditRefusesTextsWrittenSince(t *testing.T) {
	p := newRepo(t)
	dirs := []string{p.dir}
	texts, err := p.svc.Texts(t.Context(), session, dirs, []string{p.path("a.txt"), p.path("sub/b.txt")})
	p.mustSucceed(err)
	p.write("sub/b.txt", "theirs\n")
	_, err = p.svc.Edit(t.Context(), session, dirs, []machine.TextEdit{
		{Path: texts[0].Path, Was: texts[0].Kept, Data: []byte("mine\n")},
		{Path: texts[1].Path, Was: texts[1].Kept, Data: []byte("mine\n")},
	})
	if !errors.Is(err, machine.ErrStale) || !errors.Is(err, machine.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if a, b := p.read("a.txt"), p.read("sub/b.txt"); a != "one\ntwo\nthree\n" || b != "theirs\n" {
		t.Errorf("the files read %q and %q", a, b)
	}
}

// A plan is carried out completely or not at all, even if it is larger than one run of git reads.
func TestCarryOutLargePlan(t *testing.T) {
	p := newRepo(t)
	p.svc.atOnce = 1000
	large := strings.Repeat("a line of a large file\n", 30)
	for _, name := range []string{"x.txt", "y.txt", "z.txt"} {
		p.write(name, name+large)
	}
	p.commit()
	before := p.checkpoint()
	for _, name := range []string{"x.txt", "y.txt", "z.txt"} {
		p.write(name, "gone\n")
	}
	now := p.checkpoint()
	plan, err := p.svc.PlanRevert(t.Context(), session, now.Trees, p.compare(before, now), nil)
	p.mustSucceed(err)
	if got := p.read("x.txt"); got != "gone\n" {
		t.Error("planning has written")
	}
	p.write("z.txt", "theirs\n")
	p.refused("a plan", func() error { return p.svc.CarryOut(t.Context(), session, plan) },
		"z.txt has changed since")
	if got := p.read("x.txt"); got != "gone\n" {
		t.Error("half of the plan is carried out")
	}
	p.write("z.txt", "gone\n")
	p.mustSucceed(p.svc.CarryOut(t.Context(), session, plan))
	for _, name := range []string{"x.txt", "y.txt", "z.txt"} {
		if got := p.read(name); got != name+large {
			t.Errorf("%s has %d bytes", name, len(got))
		}
	}
}

func TestGrantDoesNotOverrideRefusal(t *testing.T) {
	p := newRepo(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.git")
	p.mustSucceed(os.Rename(p.path(".git"), elsewhere))
	p.put(".git", "gitdir: "+elsewhere+"\n")
	granted := session
	granted.Granted = []machine.Outside{{By: p.path(".git"), Path: elsewhere}}
	if _, err := p.svc.Checkpoint(t.Context(), granted, []string{p.dir}); err != nil {
		t.Fatalf("what is granted is refused: %v", err)
	}
	p.svc = New(Config{Dir: p.data, Refuse: func(path string) error {
		if path == elsewhere {
			return errors.New("the hub's own")
		}
		return nil
	}})
	_, err := p.svc.Checkpoint(t.Context(), granted, []string{p.dir})
	if _, outside := errors.AsType[*machine.OutsideError](err); !outside {
		t.Errorf("got %v", err)
	}
}
