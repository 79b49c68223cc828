package changeset

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/machine"
)

// uncommitted returns the uncommitted changes and the trees to act on.
func (p *place) uncommitted() ([]machine.Tree, []machine.ChangedFile) {
	p.t.Helper()
	head, err := p.svc.Head(p.t.Context(), session, []string{p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	c := p.checkpoint()
	return c.Trees, p.compare(head, c)
}

// uncommittedFile returns the uncommitted change of a path.
func (p *place) uncommittedFile(path string) ([]machine.Tree, []machine.ChangedFile) {
	p.t.Helper()
	tops, files := p.uncommitted()
	files = slices.DeleteFunc(files, func(f machine.ChangedFile) bool { return f.Path != path })
	if len(files) != 1 {
		p.t.Fatalf("%s is not among what is uncommitted", path)
	}
	return tops, files
}

func (p *place) stage(path string, lines *machine.Lines) error {
	p.t.Helper()
	tops, files := p.uncommittedFile(path)
	_, err := p.svc.Stage(p.t.Context(), session, tops, files, lines)
	return err
}

func (p *place) unstage(path string, lines *machine.Lines) error {
	p.t.Helper()
	tops, files := p.uncommittedFile(path)
	_, err := p.svc.Unstage(p.t.Context(), session, tops, files, lines)
	return err
}

// discard discards a path, or everything, and returns how to undo it.
func (p *place) discard(path string, lines *machine.Lines) (machine.Rewrite, error) {
	p.t.Helper()
	tops, files := p.uncommitted()
	if path != "" {
		tops, files = p.uncommittedFile(path)
	}
	return p.discardFiles(tops, files, lines)
}

func (p *place) commitWith(c machine.Commit) (machine.Committed, error) {
	p.t.Helper()
	tops, files := p.uncommitted()
	return p.svc.Commit(p.t.Context(), session, tops, files, c)
}

// staged returns how much of each uncommitted change is staged.
func (p *place) staged() (out []string) {
	p.t.Helper()
	s, err := p.svc.Staging(p.t.Context(), session, []string{p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	_, files := p.uncommitted()
	for _, f := range files {
		if how := s.Of(f); how != "" {
			out = append(out, f.Path+" "+how)
		}
	}
	return out
}

func (p *place) mustSucceed(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// refused checks for ErrConflict with these words, and that nothing changed.
func (p *place) refused(what string, do func() error, words string) {
	p.t.Helper()
	p.uncommitted() // looks first, so that only changes by do are detected
	frozen := p.freeze()
	err := do()
	if !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), words) {
		p.t.Errorf("%s: got %v, want something with %q", what, err, words)
	}
	frozen()
}

// indexed returns git's view of the index, by path.
func (p *place) indexed(path string) string {
	p.t.Helper()
	cmd := exec.Command("git", "show", ":"+path)
	cmd.Dir = p.dir
	out, err := cmd.Output()
	if err != nil {
		return "(none)"
	}
	return string(out)
}

func (p *place) identity() {
	p.git("config", "user.name", "Host")
	p.git("config", "user.email", "host@example.org")
}

// everythingButIndex returns everything in a repository except the index and added objects: what
// staging must not change.
func (p *place) everythingButIndex() map[string]string {
	all := p.everything()
	for name := range all {
		rel, _ := filepath.Rel(p.dir, name)
		if rel == ".git" || rel == filepath.Join(".git", "index") ||
			strings.HasPrefix(rel, filepath.Join(".git", "objects")) {
			delete(all, name)
		}
	}
	return all
}

// odd has changes of every kind, in a repository with nothing staged.
var odd = map[string]struct {
	path string
	make func(*place)
	file string // content of path, "(none)" if it is missing
	was  string // former content of path
}{
	"untracked": {"new/deep.txt", func(p *place) { p.write("new/deep.txt", "new\n") }, "new\n", "(none)"},
	"modified": {"a.txt", func(p *place) { p.write("a.txt", "one\n2\nthree\n") }, "one\n2\nthree\n",
		"one\ntwo\nthree\n"},
	"deleted":          {"sub/b.txt", func(p *place) { p.remove("sub/b.txt") }, "(none)", "b\n"},
	"no final newline": {"a.txt", func(p *place) { p.write("a.txt", "one\ntwo") }, "one\ntwo", "one\ntwo\nthree\n"},
	"CRLF":             {"crlf.txt", func(p *place) { p.write("crlf.txt", "x\r\nY\r\n") }, "x\r\nY\r\n", "x\r\ny\r\n"},
	"not UTF-8": {"latin.txt", func(p *place) { p.write("latin.txt", "caf\xe9\nth\xe9\n") }, "caf\xe9\nth\xe9\n",
		"caf\xe9\n"},
	"binary": {"blob", func(p *place) { p.write("blob", "\x00\x02") }, "\x00\x02", "\x00\x01"},
	"LFS pointer": {"big.bin", func(p *place) { p.write("big.bin", strings.Replace(pointer, "4665", "77", 1)) },
		strings.Replace(pointer, "4665", "77", 1), pointer},
	"empty":        {"empty", func(p *place) { p.write("empty", "") }, "", "(none)"},
	"strange name": {"é \"q\"\n.txt", func(p *place) { p.write("é \"q\"\n.txt", "x\n") }, "x\n", "(none)"},
	"magic name":   {":(top)*", func(p *place) { p.write(":(top)*", "x\n") }, "x\n", "(none)"},
	"renamed with edits": {"moved.txt", func(p *place) {
		p.remove("long.txt")
		p.write("moved.txt", long+"and more\n")
	}, long + "and more\n", "(none)"},
	"mode": {"run.sh", func(p *place) { p.mustSucceed(os.Chmod(p.path("run.sh"), 0o755)) }, "#!/bin/sh\n",
		"#!/bin/sh\n"},
	"symbolic link": {"link", func(p *place) {
		p.remove("link")
		p.mustSucceed(os.Symlink("sub/b.txt", p.path("link")))
	}, "b\n", "one\ntwo\nthree\n"},
	"file becomes a link": {"a.txt", func(p *place) {
		p.remove("a.txt")
		p.mustSucceed(os.Symlink("sub/b.txt", p.path("a.txt")))
	}, "b\n", "one\ntwo\nthree\n"},
}

const pointer = "version https://git-lfs.github.com/spec/v1\noid " +
	"sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\nsize 12345\n"

var long = strings.Repeat("a line that stays\n", 20)

func newOdd(t *testing.T) *place {
	p := newRepo(t)
	p.identity()
	p.write("crlf.txt", "x\r\ny\r\n")
	p.write("latin.txt", "caf\xe9\n")
	p.write("blob", "\x00\x01")
	p.write("big.bin", pointer)
	p.write("long.txt", long)
	p.write("run.sh", "#!/bin/sh\n")
	p.write(".gitignore", "*.log\n")
	p.mustSucceed(os.Symlink("a.txt", p.path("link")))
	p.commit()
	p.write("ignored.log", "ignored\n")
	return p
}

// Every kind of change can be staged, unstaged, discarded, undone, committed and reverted, without
// side effects.
func TestOperationsOnOddFiles(t *testing.T) {
	for name, c := range odd {
		t.Run(name, func(t *testing.T) {
			p := newOdd(t)
			clean := p.git("ls-files", "-s")
			c.make(p)
			tree := p.checkpoint().Trees[0].OID
			before := p.everythingButIndex()
			p.mustSucceed(p.stage(c.path, nil))
			p.want(p.staged(), c.path+" all")
			if out := p.git("diff", "--name-only") + p.git("ls-files", "-o", "--exclude-standard"); out != "" {
				t.Errorf("not all of it is staged: %s", out)
			}
			p.mustSucceed(p.unstage(c.path, nil))
			p.want(p.staged())
			if out := p.git("ls-files", "-s"); out != clean {
				t.Errorf("unstaging left %s", cmp.Diff(clean, out))
			}
			if d := cmp.Diff(before, p.everythingButIndex()); d != "" {
				t.Errorf("staging touched more than the index: %s", d)
			}
			index := p.git("ls-files", "-s")
			undo, err := p.discard(c.path, nil)
			p.mustSucceed(err)
			if got := p.read(c.path); got != c.was || p.git("status", "--porcelain") != "" {
				t.Errorf("discarding left %q, %s", got, p.git("status", "--porcelain"))
			}
			if !p.svc.CanTakeBack(t.Context(), session, undo) {
				t.Error("what was discarded cannot be taken back")
			}
			p.mustSucceed(p.svc.TakeBack(t.Context(), session, undo))
			if got := p.read(c.path); got != c.file || p.checkpoint().Trees[0].OID != tree ||
				p.git("ls-files", "-s") != index {
				t.Errorf("taking it back made %q", got)
			}
			p.refused("taking it back again", func() error { return p.svc.TakeBack(t.Context(), session, undo) },
				"has changed since")
			done, err := p.commitWith(machine.Commit{Message: "Change " + c.path, Name: "Ana", Email: "ana@host"})
			p.mustSucceed(err)
			if done.Branch != "main" || p.git("status", "--porcelain") != "" || p.read("ignored.log") != "ignored\n" {
				t.Errorf("committing left %+v, %s", done, p.git("status", "--porcelain"))
			}
			head, err := p.svc.Head(t.Context(), session, []string{p.dir})
			p.mustSucceed(err)
			if head.Trees[0].OID != tree {
				t.Error("something else was committed")
			}
			p.git("revert", "--no-edit", "HEAD")
		})
	}
}

func TestStagingLines(t *testing.T) {
	p := newRepo(t)
	p.write("f.txt", "1\n2\n3\n4\n5\n6\n")
	p.commit()
	p.write("f.txt", "one\n2\nthree\nand\n4\n6\n")
	p.mustSucceed(p.stage("f.txt", &machine.Lines{From: 3, To: 3}))
	if got := p.indexed("f.txt"); got != "1\n2\nthree\n4\n5\n6\n" {
		t.Errorf("the index has %q", got)
	}
	p.want(p.staged(), "f.txt part")
	p.mustSucceed(p.stage("f.txt", &machine.Lines{Before: true, From: 5, To: 5}))
	if got := p.indexed("f.txt"); got != "1\n2\nthree\n4\n6\n" {
		t.Errorf("with what was removed the index has %q", got)
	}
	p.refused("staging it again", func() error { return p.stage("f.txt", &machine.Lines{From: 3, To: 3}) },
		"or they are staged")
	p.mustSucceed(p.stage("f.txt", &machine.Lines{From: 1, To: 6}))
	p.want(p.staged(), "f.txt all")
	p.mustSucceed(p.unstage("f.txt", &machine.Lines{From: 1, To: 2}))
	if got := p.indexed("f.txt"); got != "1\n2\nthree\nand\n4\n6\n" {
		t.Errorf("unstaging left %q", got)
	}
	p.refused("unstaging it again", func() error { return p.unstage("f.txt", &machine.Lines{From: 1, To: 2}) },
		"staged")

	p.write("new.txt", "a\nb\n")
	p.mustSucceed(p.stage("new.txt", &machine.Lines{From: 2, To: 2}))
	if got := p.indexed("new.txt"); got != "b\n" {
		t.Errorf("of a new file the index has %q", got)
	}
	p.mustSucceed(p.unstage("new.txt", &machine.Lines{From: 1, To: 2}))
	if got := p.indexed("new.txt"); got != "(none)" {
		t.Errorf("unstaging all lines of a new file left %q", got)
	}
	p.remove("a.txt")
	p.mustSucceed(p.stage("a.txt", &machine.Lines{Before: true, From: 1, To: 1}))
	if got := p.indexed("a.txt"); got != "two\nthree\n" {
		t.Errorf("of a deleted file the index has %q", got)
	}
	p.mustSucceed(p.stage("a.txt", &machine.Lines{Before: true, From: 2, To: 3}))
	if got := p.indexed("a.txt"); got != "(none)" {
		t.Errorf("of a deleted file with all its lines the index has %q", got)
	}
	p.write("bin", "\x00")
	p.refused("lines of what has none", func() error { return p.stage("bin", &machine.Lines{From: 1, To: 1}) },
		"has no lines")
}

func TestDiscardingLines(t *testing.T) {
	p := newRepo(t)
	p.write("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n")
	p.commit()
	p.write("f.txt", "1\nTWO\n3\n4\n5\n6\nSEVEN\n8\n")
	undo, err := p.discard("f.txt", &machine.Lines{From: 1, To: 4})
	p.mustSucceed(err)
	if got := p.read("f.txt"); got != "1\n2\n3\n4\n5\n6\nSEVEN\n8\n" {
		t.Errorf("discarding a hunk left %q", got)
	}
	p.mustSucceed(p.svc.TakeBack(t.Context(), session, undo))
	p.mustSucceed(p.stage("f.txt", nil))
	p.refused("what is staged", func() error {
		_,
			err := p.discard("f.txt", &machine.Lines{From: 1, To: 8})
		return err
	}, "have no changes")
	p.write("f.txt", "1\nTWO\n3\n4\n5\n6\nSEVEN\neight\n")
	if _, err = p.discard("f.txt", nil); err != nil || p.read("f.txt") != "1\nTWO\n3\n4\n5\n6\nSEVEN\n8\n" {
		t.Errorf("discarding what is not staged left %q, %v", p.read("f.txt"), err)
	}
	p.want(p.staged(), "f.txt all")
}

func TestUndoEndsWithTheNextWrite(t *testing.T) {
	p := newRepo(t)
	p.write("a.txt", "edited\n")
	p.write("new.txt", "new\n")
	p.remove("sub/b.txt")
	undo, err := p.discard("", nil)
	p.mustSucceed(err)
	p.want(summary(func() []machine.ChangedFile { _, f := p.uncommitted(); return f }()))
	for _, write := range []struct{ name, content string }{{"a.txt", "ONE\ntwo\nthree\n"}, {"new.txt", "another\n"},
		{"sub/b.txt", "longer\n"}} {
		was := p.read(write.name)
		p.write(write.name, write.content)
		if p.svc.CanTakeBack(t.Context(), session, undo) {
			t.Errorf("%s was written to, and undoing is offered", write.name)
		}
		p.refused(write.name, func() error { return p.svc.TakeBack(t.Context(), session, undo) }, write.name+
			" has changed since")
		p.remove(write.name)
		if was != "(none)" {
			p.write(write.name, was)
		}
	}
	p.svc = New(Config{Dir: p.data}) // as after a restart
	p.mustSucceed(p.svc.TakeBack(t.Context(), session, undo))
	_, files := p.uncommitted()
	p.want(summary(files), "M a.txt +1 −3", "A new.txt +1 −0", "D sub/b.txt +0 −1")
}

// Discarding restores a file that became a directory, and the reverse.
func TestDiscardAcrossKinds(t *testing.T) {
	p := newRepo(t)
	p.remove("a.txt")
	p.write("a.txt/deep", "x\n")
	p.remove("sub")
	p.write("sub", "a file\n")
	undo, err := p.discard("", nil)
	p.mustSucceed(err)
	if p.read("a.txt") != "one\ntwo\nthree\n" || p.read("sub/b.txt") != "b\n" {
		t.Errorf("discarding left %q and %q", p.read("a.txt"), p.read("sub/b.txt"))
	}
	p.mustSucceed(p.svc.TakeBack(t.Context(), session, undo))
	if p.read("a.txt/deep") != "x\n" || p.read("sub") != "a file\n" {
		t.Error("it was not taken back")
	}
	outside := t.TempDir()
	p.git("checkout", "-q", "--", "a.txt")
	p.remove("sub")
	p.mustSucceed(os.Symlink(outside, p.path("sub")))
	if _, err := p.discard("sub/b.txt", nil); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("writing beyond a link: %v", err)
	}
	p.mustSucceed(p.stage("sub", nil))
	p.mustSucceed(p.stage("sub/b.txt", nil))
	p.want(p.staged(), "sub all", "sub/b.txt all")
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Error("a file was written beyond a link")
	}
}

func TestRevertLines(t *testing.T) {
	p := newRepo(t)
	p.write("f.txt", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9")
	before := p.checkpoint()
	p.write("f.txt", "1\r\nTWO\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\nNINE")
	after := p.checkpoint()
	files := p.compare(before, after)
	revert := func(l machine.Lines) error {
		_, err := p.revertFiles(after.Trees, files, &l)
		return err
	}
	p.write("f.txt", "0\r\n"+p.read("f.txt"))
	p.mustSucceed(revert(machine.Lines{From: 8, To: 9}))
	if got := p.read("f.txt"); got != "0\r\n1\r\nTWO\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9" {
		t.Errorf("reverting a hunk under a later edit left %q", got)
	}
	p.write("f.txt", strings.Replace(p.read("f.txt"), "TWO", "2.0", 1))
	p.refused("lines that were edited since", func() error { return revert(machine.Lines{From: 1, To: 3}) },
		"the same lines of f.txt have changed since")
	p.refused("lines without a change", func() error { return revert(machine.Lines{From: 4, To: 6}) },
		"have no changes")
	if out := p.git("diff", "--cached", "--name-only"); out != "" {
		t.Errorf("the index has %s", out)
	}
}
