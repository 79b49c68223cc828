package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// tree is a session in a git repository.
type tree struct {
	*testSite
	dir, base string
}

func openTree(t *testing.T) *tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	x := &tree{testSite: open(t), dir: t.TempDir()}
	x.git("init", "-q", "-b", "main")
	x.git("config", "user.name", "Host")
	x.git("config", "user.email", "host@example.org")
	x.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	x.git("add", "-A")
	x.git("commit", "-qm", "first")
	x.base = x.post("/new", url.Values{"dir": {x.dir}, "agent": {script.Provider}})
	return x
}

func (x *tree) git(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = x.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (x *tree) write(name, content string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(content), 0o700); err != nil {
		x.t.Fatal(err)
	}
}

func (x *tree) read(name string) string {
	data, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil {
		return "(none)"
	}
	return string(data)
}

// op submits the form of an operation without JavaScript, and returns the answer.
func (x *tree) op(want int, op string, more ...string) string {
	x.t.Helper()
	form := url.Values{"q": {"scope=uncommitted"}, "op": {op}}
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	res, err := x.web.PostForm(x.url+x.base+"/changes/op", form)
	return x.body("an operation", res, err, want)
}

func (x *tree) changes(want string) string {
	x.t.Helper()
	return x.until(x.base+"/changes?scope=uncommitted", want)
}

// key returns the page's key of a file.
func (x *tree) key(page, name string) string {
	x.t.Helper()
	m := regexp.MustCompile(`id="file-([0-9a-f]+)"[^>]* data-path="` + regexp.QuoteMeta(name) + `"`).FindStringSubmatch(
		page)
	if m == nil {
		x.t.Fatalf("%s is not on the page", name)
	}
	return m[1]
}

// Without JavaScript, a person stages, commits, discards, undoes and reverts; every step reports its result.
func TestOperationsByForms(t *testing.T) {
	x := openTree(t)
	edited := "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\neleven\n12\n"
	x.write("a.txt", edited)
	x.write("b.txt", "b\n")
	p := x.changes("0 of 2 files staged")
	a := x.key(p, "a.txt")
	for _, want := range []string{"Stage all", "Commit…", "Create branch…", "Discard all…", `formaction="` + x.base +
		`/changes/op?scope=uncommitted&amp;file=` + a + `" name="op" value="stage"`} {
		if !strings.Contains(p, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(p, "Unstage all") || strings.Contains(p, "Revert all") {
		t.Error("the page offers what makes no sense")
	}

	x.op(http.StatusSeeOther, "stage", "file", a, "at", "R2")
	x.changes("0 of 2 files staged, 1 partly")
	x.op(http.StatusSeeOther, "stage", "file", a)
	x.changes(`<span class="stg all">Staged</span>`)

	x.write(".git/hooks/pre-commit", "#!/bin/sh\necho \"a.txt:2: no <words>\"\nexit 1\n")
	refused := x.op(http.StatusConflict, "commit", "message", "Two & eleven")
	for _, want := range []string{"Git refused the commit", "a.txt:2: no &lt;words&gt;", "Two &amp; eleven</textarea>",
		"Commit again"} {
		if !strings.Contains(refused, want) {
			t.Errorf("the refusal does not have %s", want)
		}
	}
	x.changes("a.txt:2: no &lt;words&gt;")
	if err := os.Remove(filepath.Join(x.dir, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	x.op(http.StatusSeeOther, "commit", "message", "Two & eleven")
	x.changes("0 of 1 file staged")
	if got := x.git("log", "-1", "--format=%an %s"); got != "Ana Two & eleven" {
		t.Errorf("the commit is %q", got)
	}

	x.write("a.txt", strings.Replace(strings.Replace(edited, "two", "2", 1), "eleven", "11", 1))
	p = x.changes("0 of 2 files staged")
	asked := x.op(http.StatusPreconditionRequired, "discard", "file", a, "at", "R2")
	if !strings.Contains(asked, "Discard unstaged changes?") || !strings.Contains(asked, `name="at" value="R2"`) ||
		!strings.Contains(asked, "a.txt R2") {
		t.Errorf("it does not ask: %s", asked)
	}
	x.op(http.StatusSeeOther, "discard", "file", a, "at", "R2", "sure", "yes")
	if got := x.read("a.txt"); got != strings.Replace(edited, "eleven", "11", 1) {
		t.Errorf("discarding a hunk left %q", got)
	}
	x.op(http.StatusSeeOther, "discard", "sure", "yes")
	if x.read("b.txt") != "(none)" {
		t.Error("discarding everything left what is new")
	}
	x.changes("Undo discard (2 files)")
	x.op(http.StatusSeeOther, "undo")
	x.changes("0 of 2 files staged")
	if x.read("b.txt") != "b\n" {
		t.Error("it was not brought back")
	}

	x.op(http.StatusConflict, "create-branch", "name", "main")
	x.op(http.StatusSeeOther, "create-branch", "name", "fix/it")
	if got := x.git("symbolic-ref", "--short", "HEAD"); got != "fix/it" {
		t.Errorf("HEAD is %s", got)
	}
	for what, bad := range map[string][]string{"an operation that is none": {"explode"},
		"a place that is none": {"stage", "file", x.key(p, "b.txt"), "at", "R9-L1"}} {
		if got := x.op(http.StatusBadRequest, bad[0], bad[1:]...); !strings.Contains(got, "reload") &&
			!strings.Contains(got, "Reload") {
			t.Errorf("%s: %s", what, got)
		}
	}
	x.op(http.StatusNotFound, "stage", "file", "000000000000")
	x.git("fsck", "--full", "--strict")
}

// A turn's or session's changes can also be reverted by hunk; these scopes have no index.
func TestRevertAHunkByForm(t *testing.T) {
	x := openTree(t)
	x.get(x.base + "/changes?scope=session") // the session begins here
	x.write("a.txt", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n12\n")
	p := x.until(x.base+"/changes?scope=session", "Revert all…")
	if strings.Contains(p, "Stage all") {
		t.Error("what a session changed can be staged")
	}
	a := x.key(p, "a.txt")
	x.op(http.StatusSeeOther, "revert", "q", "scope=session", "file", a, "at", "L11", "sure", "yes")
	if got := x.read("a.txt"); got != "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n" {
		t.Errorf("reverting a hunk left %q", got)
	}
	x.op(http.StatusConflict, "revert", "q", "scope=session", "file", a, "at", "R5", "sure", "yes")
}

func TestTheBarIsDrawnAgainOnlyWhenItReadsOtherwise(t *testing.T) {
	v := func(staged string, ops ...page.Op) *page.Changes {
		return &page.Changes{Ops: ops, Files: []part.DiffFile{{Staged: staged}}}
	}
	stage := page.Op{ID: "stage"}
	for name, c := range map[string]struct {
		a, b *page.Changes
		same bool
	}{
		"the same":   {v("", stage), v("", stage), true},
		"more":       {v("", stage), v("", stage, page.Op{ID: "undo"}), false},
		"running":    {v("", stage), v("", page.Op{ID: "stage", Running: true}), false},
		"staged":     {v("", stage), v("all", stage), false},
		"not at all": {v("all"), v(""), true},
	} {
		if c.a.SameOps(c.b) != c.same {
			t.Errorf("%s: wanted %v", name, c.same)
		}
	}
}
