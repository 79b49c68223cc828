package changeset

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// look looks at some paths.
func (p *place) look(paths ...string) machine.Checkpoint {
	p.t.Helper()
	for i, name := range paths {
		paths[i] = p.path(name)
	}
	c, err := p.svc.Look(p.t.Context(), session, []string{p.dir}, paths)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// For every kind of write, a look at the reported paths finds the same as a look at everything.
func TestLookMatchesCheckpoint(t *testing.T) {
	long := strings.Repeat("a line that stays\n", 20)
	for name, c := range map[string]struct {
		do   func(p *place)
		told []string
		want []string
	}{
		"written":       {func(p *place) { p.write("a.txt", "x\n") }, []string{"a.txt"}, []string{"M a.txt +1 −3"}},
		"same size":     {func(p *place) { p.write("a.txt", "ONE\ntwo\nthree\n") }, []string{"a.txt"}, []string{"M a.txt +1 −1"}},
		"new":           {func(p *place) { p.write("new.txt", "x\n") }, []string{"new.txt"}, []string{"A new.txt +1 −0"}},
		"deleted":       {func(p *place) { p.remove("a.txt") }, []string{"a.txt"}, []string{"D a.txt +0 −3"}},
		"ignored":       {func(p *place) { p.write("x.log", "x\n"); p.write("out/x", "x\n") }, []string{"x.log", "out", "out/x"}, nil},
		"forced":        {func(p *place) { p.write("kept.log", "2\n") }, []string{"kept.log"}, []string{"M kept.log +1 −1"}},
		"a temporary":   {func(p *place) {}, []string{"4913", "a.txt~"}, nil},
		"new folder":    {func(p *place) { p.write("d/e/f", "x\n"); p.write("d/x.log", "x\n") }, []string{"d"}, []string{"A d/e/f +1 −0"}},
		"folder gone":   {func(p *place) { p.remove("sub") }, []string{"sub"}, []string{"D sub/b.txt +0 −1"}},
		"folder moved":  {func(p *place) { p.rename("sub", "elsewhere") }, []string{"sub", "elsewhere"}, []string{"R sub/b.txt → elsewhere/b.txt +0 −0"}},
		"renamed":       {func(p *place) { p.remove("long"); p.write("new name", long+"x\n") }, []string{"long", "new name"}, []string{"R long → new name +1 −0"}},
		"file to dir":   {func(p *place) { p.remove("a.txt"); p.write("a.txt/deep", "x\n") }, []string{"a.txt"}, []string{"D a.txt +0 −3", "A a.txt/deep +1 −0"}},
		"dir to file":   {func(p *place) { p.remove("sub"); p.write("sub", "x\n") }, []string{"sub"}, []string{"A sub +1 −0", "D sub/b.txt +0 −1"}},
		"mode":          {func(p *place) { p.chmod("a.txt", 0o755) }, []string{"a.txt"}, []string{"M a.txt +0 −0 100644→100755"}},
		"link":          {func(p *place) { p.remove("a.txt"); p.link("sub", "a.txt") }, []string{"a.txt"}, []string{"T a.txt +1 −3 100644→120000"}},
		"binary":        {func(p *place) { p.write("a.txt", "a\x00b") }, []string{"a.txt"}, []string{"M a.txt binary"}},
		"no newline":    {func(p *place) { p.write("a.txt", "one\ntwo\nthree") }, []string{"a.txt"}, []string{"M a.txt +1 −1"}},
		"odd names":     {func(p *place) { p.write("*[?]\"\n.txt", "x\n"); p.write("-x", "x\n") }, []string{"*[?]\"\n.txt", "-x"}, []string{"A *[?]\"\n.txt +1 −0", "A -x +1 −0"}},
		"too large":     {func(p *place) { p.write("big", strings.Repeat("x", 2<<20)) }, []string{"big"}, []string{"A big (larger than 1 MB)"}},
		"a repository":  {func(p *place) { p.gitIn(p.dir, "init", "-q", "clone") }, []string{"clone"}, []string{"A clone (a separate git repository)"}},
		"more ignored":  {func(p *place) { p.write(".gitignore", "*.log\nout/\nseen\n") }, []string{".gitignore"}, []string{"M .gitignore +1 −0", "D seen +0 −1"}},
		"less ignored":  {func(p *place) { p.write("x.log", "x\n"); p.write(".gitignore", "out/\n") }, []string{"x.log", ".gitignore"}, []string{"M .gitignore +0 −1", "A x.log +1 −0"}},
		"told too much": {func(p *place) { p.write("sub/b.txt", "2\n") }, []string{"", "sub", "sub/b.txt", "../elsewhere"}, []string{"M sub/b.txt +1 −1"}},
		"committed":     {func(p *place) { p.write("a.txt", "x\n"); p.commit() }, nil, []string{"M a.txt +1 −3"}}, // by index
	} {
		t.Run(name, func(t *testing.T) {
			p := newRepo(t)
			p.svc = New(Config{Dir: p.data, FileBytes: 1 << 20})
			p.svc.splitFrom = 0 // as for a large repository
			p.write(".gitignore", "*.log\nout/\n")
			p.write("kept.log", "1\n")
			p.write("long", long)
			p.git("add", "-f", "kept.log")
			p.commit()
			p.write("seen", "untracked\n")
			before := p.checkpoint()
			c.do(p)
			frozen := p.freeze()
			got := p.look(slices.Clone(c.told)...)
			frozen()
			p.want(summary(p.compare(before, got)), c.want...)
			if all := p.checkpoint(); all.Trees[0].OID != got.Trees[0].OID {
				t.Errorf("a look at everything finds more: %q", summary(p.compare(got, all)))
			}
		})
	}
}

func (p *place) rename(from, to string) {
	p.t.Helper()
	if err := os.Rename(p.path(from), p.path(to)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) chmod(name string, mode os.FileMode) {
	p.t.Helper()
	if err := os.Chmod(p.path(name), mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) link(to, name string) {
	p.t.Helper()
	if err := os.Symlink(to, p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

// A look only reads the given paths; files that are listed but not stored stay listed.
func TestLookIsNarrow(t *testing.T) {
	p := newRepo(t)
	p.svc = New(Config{Dir: p.data, FileBytes: 1 << 20})
	p.write("big", strings.Repeat("x", 2<<20))
	before := p.checkpoint()
	p.write("a.txt", "not told of\n")
	p.write("sub/b.txt", "told of\n")
	c := p.look("sub/b.txt")
	p.want(summary(p.compare(before, c)), "M sub/b.txt +1 −1")
	p.remove("big")
	p.want(summary(p.compare(before, p.look("big"))), "D big (larger than 1 MB)", "M sub/b.txt +1 −1")
	p.want(summary(p.compare(before, p.checkpoint())), "M a.txt +1 −3", "D big (larger than 1 MB)", "M sub/b.txt +1 −1")
}

func TestVeryManyPathsAreALookAtEverything(t *testing.T) {
	p := newRepo(t)
	before := p.checkpoint()
	p.write("a.txt", "x\n")
	var told []string
	for i := range mostNarrow + 1 {
		told = append(told, fmt.Sprint("new", i))
	}
	p.want(summary(p.compare(before, p.look(told...))), "M a.txt +1 −3")
}

func TestLookDuringARebaseAndInASparseCheckout(t *testing.T) {
	t.Run("rebase", func(t *testing.T) {
		p := newRepo(t)
		p.git("checkout", "-q", "-b", "side")
		p.write("a.txt", "side\n")
		p.commit()
		p.git("checkout", "-q", "main")
		p.write("a.txt", "main\n")
		p.commit()
		cmd := exec.Command("git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "rebase", "side")
		cmd.Dir = p.dir
		if cmd.Run() == nil {
			t.Fatal("the rebase has no conflict")
		}
		before := p.checkpoint()
		p.write("a.txt", "solved\n")
		p.want(summary(p.compare(before, p.look("a.txt"))), "M a.txt +1 −5")
	})
	t.Run("sparse", func(t *testing.T) {
		p := newRepo(t)
		p.git("sparse-checkout", "set", "--cone", "other")
		before := p.checkpoint()
		p.want(summary(p.compare(before, p.look("sub", "sub/b.txt"))))
		p.write("sub/b.txt", "here again\n")
		p.want(summary(p.compare(before, p.look("sub", "sub/b.txt"))), "M sub/b.txt +1 −1")
	})
	t.Run("submodule", func(t *testing.T) {
		inner := newRepo(t)
		p := newRepo(t)
		p.git("submodule", "--quiet", "add", inner.dir, "inner")
		p.commit()
		before := p.checkpoint()
		inner.dir = p.path("inner")
		inner.write("a.txt", "dirty\n")
		p.want(summary(p.compare(before, p.look("inner/a.txt"))))
		inner.commit()
		p.want(summary(p.compare(before, p.look("inner"))), "M inner +1 −1")
	})
}

func TestLookAtMissingFolder(t *testing.T) {
	p := newRepo(t)
	p.checkpoint()
	p.remove("")
	if _, err := p.svc.Look(t.Context(), session, []string{p.dir}, []string{p.path("a.txt")}); !os.IsNotExist(err) && err == nil {
		t.Errorf("got %v", err)
	}
}

// A session's directories may be nested: in the same repository they count once, otherwise
// separately.
func TestNestedDirectories(t *testing.T) {
	p := newRepo(t)
	inner := *p
	inner.dir = p.path("inner")
	inner.write("x.txt", "x\n")
	inner.git("init", "-q")
	inner.commit()
	other := newRepo(t)
	dirs := []string{inner.dir, p.path("sub"), p.dir, other.dir}
	all := func() machine.Checkpoint {
		c, err := p.svc.Checkpoint(t.Context(), session, dirs)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := all()
	inner.write("x.txt", "y\n")
	p.write("sub/b.txt", "2\n")
	other.write("a.txt", "3\n")
	var got []string
	for _, f := range p.compare(before, all()) {
		rel, _ := filepath.Rel(filepath.Dir(p.dir), f.Name())
		if f.Top == other.dir {
			rel = "other/" + f.Path
		}
		got = append(got, rel)
	}
	slices.Sort(got)
	p.want(got, "other/a.txt", "work tree/inner/x.txt", "work tree/sub/b.txt")
	if n := len(before.Trees); n != 3 {
		t.Errorf("there are %d trees", n)
	}
	uncommitted, err := p.svc.Uncommitted(t.Context(), session, dirs)
	if err != nil {
		t.Fatal(err)
	}
	p.want(summary(uncommitted), "M sub/b.txt +1 −1", "M x.txt +1 −1", "M a.txt +1 −3")
}
