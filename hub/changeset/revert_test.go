package changeset

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func (p *place) read(name string) string {
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		return "(none)"
	}
	return string(data)
}

func (p *place) revert(from, to machine.Checkpoint) error {
	p.t.Helper()
	_, err := p.revertFiles(to.Trees, p.compare(from, to), nil)
	return err
}

func TestRevertUndoesEverything(t *testing.T) {
	p := newRepo(t)
	p.write("gone.txt", "gone\n")
	p.write("old.txt", strings.Repeat("stays\n", 20))
	p.write("run.sh", "#!/bin/sh\n")
	p.commit()
	before := p.checkpoint()
	p.write("a.txt", "changed\n")
	p.remove("gone.txt")
	p.write("new/deep.txt", "new\n")
	p.remove("old.txt")
	p.write("renamed.txt", strings.Repeat("stays\n", 20)+"more\n")
	if err := errors.Join(os.Chmod(p.path("run.sh"), 0o755), os.Symlink("a.txt", p.path("link"))); err != nil {
		t.Fatal(err)
	}
	after := p.checkpoint()
	if err := p.revert(before, after); err != nil {
		t.Fatal(err)
	}
	p.want(summary(p.compare(before, p.checkpoint())))
	if _, err := os.Stat(p.path("new")); err == nil {
		t.Error("an empty directory is left")
	}
	if out := p.git("status", "--porcelain"); out != "" {
		t.Errorf("git status says %q", out)
	}
}

func TestRevertKeepsLaterEdits(t *testing.T) {
	p := newRepo(t)
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	p.write("f.txt", lines)
	before := p.checkpoint()
	p.write("f.txt", strings.Replace(lines, "2\n", "two\n", 1))
	after := p.checkpoint()
	p.write("f.txt", strings.Replace(p.read("f.txt"), "8\n", "eight\n", 1))
	if err := p.revert(before, after); err != nil {
		t.Fatal(err)
	}
	if got := p.read("f.txt"); got != strings.Replace(lines, "8\n", "eight\n", 1) {
		t.Errorf("the file is %q", got)
	}
}

func TestFailedRevertChangesNothing(t *testing.T) {
	cases := map[string]func(*place){
		"same line edited": func(p *place) { p.write("b.txt", "something else\n") },
		"file gone":        func(p *place) { p.remove("b.txt") },
		"file now a link": func(p *place) {
			p.remove("b.txt")
			if err := os.Symlink("a.txt", p.path("b.txt")); err != nil {
				p.t.Fatal(err)
			}
		},
		"new file edited":      func(p *place) { p.write("new.txt", "new and edited\n") },
		"deleted file is back": func(p *place) { p.write("sub/b.txt", "not what it was\n") },
	}
	for name, since := range cases {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			p.write("b.txt", "b\n")
			before := p.checkpoint()
			p.write("a.txt", "changed\n")
			p.write("b.txt", "changed\n")
			p.write("new.txt", "new\n")
			p.remove("sub/b.txt")
			after := p.checkpoint()
			since(p)
			frozen := p.freeze()
			if err := p.revert(before, after); !errors.Is(err, machine.ErrConflict) {
				t.Errorf("got %v", err)
			}
			frozen()
		})
	}
}

func TestRevertKeepsLineEnds(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q")
	p.git("config", "core.autocrlf", "true")
	p.write("a.txt", "one\r\ntwo\r\n")
	p.commit()
	before := p.checkpoint()
	p.write("a.txt", "one\r\n")
	after := p.checkpoint()
	if err := p.revert(before, after); err != nil {
		t.Fatal(err)
	}
	if got := p.read("a.txt"); got != "one\r\ntwo\r\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestRevertUnstoredContent(t *testing.T) {
	p := newPlace(t)
	p.svc = New(Config{Dir: p.data, FileBytes: 3})
	before := p.checkpoint()
	p.write("big", "large\n")
	if err := p.revert(before, p.checkpoint()); !errors.Is(err, machine.ErrConflict) || p.read("big") != "large\n" {
		t.Errorf("got %v", err)
	}
}
