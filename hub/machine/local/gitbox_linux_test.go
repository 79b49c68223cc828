package local

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box"
)

// gitWorld is a machine with boxes and a repository. The canary is a file outside of every box.
type gitWorld struct {
	*testing.T
	m                       *Machine
	data, dir, canary, home string
	ws                      machine.Workspace
	policy                  *sandbox.Policy
}

func newGitWorld(t *testing.T, trust ...string) *gitWorld {
	t.Helper()
	w := &gitWorld{T: t, data: t.TempDir(), dir: t.TempDir(), canary: filepath.Join(t.TempDir(), "canary"),
		home: t.TempDir()}
	t.Setenv("HOME", w.home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(w.home, ".config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\nname = Host\nemail = host@example.org\n[init]\ndefaultBranch = main\n")
	g, err := guard.New(w.data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	boxes := box.New(box.Config{Dir: filepath.Join(w.data, "boxes"), Program: program, Home: w.home, Path: os.Getenv("PATH"),
		Guard: g, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(boxes.Close)
	if why := boxes.Report().Namespace; why != "" {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	w.m = New(WithPrograms(Programs{Boxes: boxes}), WithData(Data{Dir: w.data, Guard: g, TrustHooks: trust}))
	w.policy = &sandbox.Policy{Session: "s1", Mode: sandbox.Namespace, Write: []string{w.dir}, Network: sandbox.Closed,
		Own: []string{"s1"}}
	w.ws = machine.Workspace{Session: "ahp-session:/s1", Dirs: []string{w.dir}, Sandboxed: true, Sandbox: w.policy}
	w.git(w.dir, "init", "-q")
	w.write(filepath.Join(w.dir, "a.txt"), "one\ntwo\nthree\n")
	w.git(w.dir, "add", "-A")
	w.git(w.dir, "commit", "-q", "-m", "one")
	return w
}

func (w *gitWorld) write(path, content string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		w.Fatal(err)
	}
}

func (w *gitWorld) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// inBox runs a script as a program of the session.
func (w *gitWorld) inBox(dir, script string) {
	w.Helper()
	cmd := exec.Command("/bin/sh", "-euc", script)
	var out strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, os.Environ(), &out, &out
	err := w.m.programs.Start(cmd, w.policy)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		w.Fatalf("the program in the box: %v\n%s", err, out.String())
	}
}

// hasEscaped reports whether a program ran outside of the box since the last call.
func (w *gitWorld) hasEscaped() bool { return os.Remove(w.canary) == nil }

// changed returns the tops and uncommitted files of a directory.
func (w *gitWorld) changed(dir string) ([]machine.Tree, []machine.ChangedFile) {
	w.Helper()
	ctx := w.Context()
	now, err := w.m.Changes().LookAtAll(ctx, w.ws, []string{dir})
	if err != nil {
		w.Fatal(err)
	}
	head, err := w.m.Changes().Head(ctx, w.ws, []string{dir})
	if err != nil {
		w.Fatal(err)
	}
	files, err := w.m.Changes().Compare(ctx, w.ws, head, now)
	if err != nil {
		w.Fatal(err)
	}
	return now.Trees, files
}

// trap returns a shell script that plants everything that makes git run a program, in its working directory. Each
// program leaves a trace next to the canary if it can, and one in the directory.
func (w *gitWorld) trap() string {
	return fmt.Sprintf(`
cat >trap.sh <<'END'
#!/bin/sh
touch %[1]q 2>/dev/null
touch %[2]q/ran-${0##*/} 2>/dev/null
case "$1" in filter) cat;; esac
exit 0
END
chmod +x trap.sh
mkdir -p .git/hooks
for hook in applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit pre-merge-commit post-merge \
	post-checkout post-index-change reference-transaction pre-auto-gc fsmonitor-watchman post-rewrite; do
	cp trap.sh .git/hooks/$hook
done
printf '*.txt filter=evil diff=evil merge=evil\n' >.gitattributes
cat >more.config <<END
[core]
	fsmonitor = $PWD/trap.sh
[alias]
	status = !$PWD/trap.sh
	commit = !$PWD/trap.sh
END
git config include.path "$PWD/more.config"
git config filter.evil.clean "$PWD/trap.sh filter"
git config filter.evil.smudge "$PWD/trap.sh filter"
git config diff.evil.textconv "$PWD/trap.sh"
git config diff.evil.command "$PWD/trap.sh"
git config merge.evil.driver "$PWD/trap.sh"
for name in core.pager core.editor sequence.editor diff.external core.sshCommand core.askPass gpg.program gpg.ssh.program \
	credential.helper core.alternateRefsCommand uploadpack.packObjectsHook interactive.diffFilter; do
	git config $name "$PWD/trap.sh"
done
`, w.canary, w.dir)
}

// actOnAll performs every action and query on a repository. It ignores errors of git.
func (w *gitWorld) actOnAll(dir string) (commit error) {
	ctx, c := w.Context(), w.m.Changes()
	tops, files := w.changed(dir)
	_, _ = c.Staging(ctx, w.ws, []string{dir})
	_, _ = c.TrackedFiles(ctx, w.ws, []string{dir})
	_, _ = c.Files(ctx, w.ws, []string{dir}, 100)
	_, _ = c.Refs(ctx, w.ws, dir, "", 10)
	_, _ = c.Branch(ctx, w.ws, []string{dir})
	_, _ = c.CheckedOut(ctx, w.ws, dir)
	_, _ = c.Track(ctx, w.ws, dir, filepath.Join(dir, "a.txt"))
	_, _ = c.Stage(ctx, w.ws, tops, files, nil)
	_, _ = c.Unstage(ctx, w.ws, tops, files, nil)
	_ = c.CreateBranch(ctx, w.ws, tops, "new")
	if r, err := c.PlanRevert(ctx, w.ws, tops, files, nil); err == nil {
		_ = c.CarryOut(ctx, w.ws, r)
		_ = c.TakeBack(ctx, w.ws, r)
	}
	if r, err := c.PlanDiscard(ctx, w.ws, tops, files, nil); err == nil {
		_ = c.CarryOut(ctx, w.ws, r)
		_ = c.TakeBack(ctx, w.ws, r)
	}
	_, commit = c.Commit(ctx, w.ws, tops, files, machine.Commit{Message: "two", Name: "Ana"})
	return commit
}

func TestWhatRepositoryRunsStaysInBox(t *testing.T) {
	w := newGitWorld(t)
	w.inBox(w.dir, w.trap()+"echo edited >>a.txt\n")
	if err := w.actOnAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if w.hasEscaped() {
		t.Error("a program of the repository ran outside")
	}
	if got := w.git(w.dir, "log", "--format=%s %an %cn", "-1"); !strings.HasPrefix(got, "two Ana Host") {
		t.Errorf("the commit is %q", got)
	}
	for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "trap.sh"} {
		if _, err := os.Stat(filepath.Join(w.dir, "ran-"+hook)); err != nil {
			t.Errorf("%s did not run in the box either: %v", hook, err)
		}
	}
	if w.hasEscaped(); len(mustGlob(t, filepath.Join(w.dir, ".git", "ahphub-*"))) > 0 {
		t.Error("an index is left behind in the repository")
	}
	w.ws.Sandbox, w.ws.Sandboxed = nil, false // planted programs run without a sandbox
	w.write(filepath.Join(w.dir, "a.txt"), "again\n")
	if _ = w.actOnAll(w.dir); !w.hasEscaped() {
		t.Error("the traps prove nothing: they do not work without a box")
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Submodules have their own settings, which git reads when it reads the outer repository.
func TestWhatSubmoduleRunsStaysInBox(t *testing.T) {
	w := newGitWorld(t)
	sub := filepath.Join(w.dir, "sub")
	w.write(filepath.Join(sub, "b.txt"), "b\n")
	w.git(sub, "init", "-q")
	w.git(sub, "add", "-A")
	w.git(sub, "commit", "-q", "-m", "sub")
	w.git(w.dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
	w.git(w.dir, "commit", "-q", "-m", "with sub")
	w.inBox(sub, w.trap()+"echo edited >>b.txt\n")
	w.inBox(w.dir, "echo edited >>a.txt; git config submodule.recurse true; git config diff.ignoreSubmodules none")
	if err := w.actOnAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if w.hasEscaped() {
		t.Error("a program of the submodule ran outside")
	}
	if w.git(w.dir, "status"); !w.hasEscaped() {
		t.Error("the traps prove nothing: git status outside does not run them")
	}
}

// worktreeOf creates a worktree for the session, and switches its policy to it.
func (w *gitWorld) worktreeOf() machine.Worktree {
	w.Helper()
	made, at, err := w.m.Changes().AddWorktree(w.Context(), w.ws, machine.NewWorktree{Dir: w.dir, Name: "s1",
		Branch: "ahphub/s1", Sandbox: w.policy})
	if err != nil {
		w.Fatal(err)
	}
	w.policy.Write, w.policy.Git = []string{at}, []string{filepath.Join(w.dir, ".git")}
	w.ws.Dirs = []string{at}
	return made
}

// A session in the repository itself plants programs where another session's worktree is created.
func TestMakingWorktreeRunsNothingOutside(t *testing.T) {
	w := newGitWorld(t)
	w.inBox(w.dir, w.trap()+"git add -A; git commit -q -m traps")
	w.policy.Write = []string{t.TempDir()} // the other session's
	made := w.worktreeOf()
	if w.hasEscaped() {
		t.Error("making a worktree ran a program outside")
	}
	if b, err := os.ReadFile(filepath.Join(made.Dir, "a.txt")); err != nil || string(b) != "one\ntwo\nthree\n" {
		t.Errorf("it has %q, %v", b, err)
	}
	if _, err := w.m.Changes().Standing(t.Context(), w.ws, made); err != nil || w.hasEscaped() {
		t.Errorf("looking at the worktree ran a program outside, or failed: %v", err)
	}
	if err := w.m.Changes().RemoveWorktree(t.Context(), w.ws, made, true); err != nil || w.hasEscaped() {
		t.Errorf("removing it ran a program outside, or failed: %v", err)
	}
	if got := w.git(w.dir, "branch", "--list", "ahphub/*"); got != "" {
		t.Errorf("%s is left", got)
	}
}

// The owner's settings name programs in the worktree, like husky's hooks.
func TestMergeOfWorktreeRunsNothingOutside(t *testing.T) {
	w := newGitWorld(t)
	w.git(w.dir, "config", "core.hooksPath", ".husky")
	w.git(w.dir, "config", "filter.own.clean", "sh ./clean.sh")
	made := w.worktreeOf()
	w.inBox(made.Dir, fmt.Sprintf(`
mkdir .husky
for hook in pre-commit post-commit pre-merge-commit post-merge post-checkout reference-transaction post-index-change; do
	printf '#!/bin/sh\ntouch %[1]s\ncp /dev/null ../../hooked 2>/dev/null; echo x >>%[2]s/.git/hooks/pre-commit\nexit 0\n' >.husky/$hook
	chmod +x .husky/$hook
done
printf 'touch %[1]s\ncat\n' >clean.sh
printf '*.txt filter=own\n' >.gitattributes
echo more >>a.txt
`, w.canary, w.dir))
	tops, files := w.changed(made.Dir)
	if _, err := w.m.Changes().Standing(t.Context(), w.ws, made); err != nil {
		t.Fatal(err)
	}
	if _, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "work", Name: "Ana"}); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.dir, "other.txt"), "other\n")
	w.git(w.dir, "add", "other.txt")
	w.git(w.dir, "commit", "-q", "-m", "meanwhile")
	if n, err := w.m.Changes().MergeWorktree(t.Context(), w.ws, made); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if w.hasEscaped() {
		t.Error("a merge ran a program outside")
	}
	if got := w.git(w.dir, "log", "-1", "--format=%s %cn %P"); !strings.HasPrefix(got, "Merge ahphub/s1 Host ") ||
		w.git(w.dir, "-c", "core.hooksPath=/dev/null", "status", "--porcelain", "-uno") != "" {
		t.Errorf("the merge is %q", got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, ".git", "hooks", "pre-commit")); err == nil {
		t.Error("a hook that ran in the box wrote another one")
	}
	if err := w.m.Changes().RemoveWorktree(context.WithoutCancel(t.Context()), w.ws, made, false); err != nil {
		t.Error(err)
	}
}

// A session in a directory of a repository cannot reach the repository, but people can commit there.
func TestCommitInDirectoryBelowRepository(t *testing.T) {
	w := newGitWorld(t)
	sub := filepath.Join(w.dir, "sub")
	w.write(filepath.Join(sub, "b.txt"), "b\n")
	w.policy.Write, w.ws.Dirs = []string{sub}, []string{sub}
	w.write(filepath.Join(w.dir, ".git/hooks/pre-commit"), "#!/bin/sh\necho x >"+w.canary+"\necho x >>.git/config\n"+
		"touch sub/ran\n")
	tops, files := w.changed(sub)
	if _, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "two", Name: "Ana"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(sub, "ran")); err != nil || w.hasEscaped() {
		t.Errorf("the hook did not run in the box alone: %v", err)
	}
	if got := w.git(w.dir, "log", "-1", "--format=%s"); got != "two" {
		t.Errorf("the commit is %q", got)
	}
}

func TestSignedCommitInBoxSaysWhatToDo(t *testing.T) {
	w := newGitWorld(t)
	w.git(w.dir, "config", "commit.gpgsign", "true")
	w.git(w.dir, "config", "gpg.program", "false")
	w.write(filepath.Join(w.dir, "a.txt"), "edited\n")
	tops, files := w.changed(w.dir)
	_, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "two", Name: "Ana"})
	if err == nil || !strings.Contains(err.Error(), "has no keys for signing") || !strings.Contains(err.Error(), "--trust-hooks") {
		t.Errorf("it says %v", err)
	}
}

func TestTrustedHooksRunOutside(t *testing.T) {
	probe := newGitWorld(t)
	w := newGitWorld(t, filepath.Dir(filepath.Dir(probe.dir)))
	w.write(filepath.Join(w.dir, ".git/hooks/pre-commit"), "#!/bin/sh\ntouch "+w.canary+"\n")
	w.write(filepath.Join(w.dir, "a.txt"), "edited\n")
	tops, files := w.changed(w.dir)
	_, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "two", Name: "Ana"})
	if err != nil || !w.hasEscaped() {
		t.Errorf("the hook of a trusted repository did not run outside: %v", err)
	}
}

// With Landlock alone, people can still commit and merge.
func TestGitOfPeopleWithLandlock(t *testing.T) {
	w := newGitWorld(t)
	w.policy.Mode = sandbox.Landlock
	if why := w.m.programs.Boxes.Report().Landlock; why != "" {
		t.Skip(why)
	}
	w.write(filepath.Join(w.dir, ".git/hooks/pre-commit"), "#!/bin/sh\necho x >"+w.canary+"\ntouch ran\n")
	w.write(filepath.Join(w.dir, "a.txt"), "edited\n")
	tops, files := w.changed(w.dir)
	if _, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "two", Name: "Ana"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err != nil || w.hasEscaped() {
		t.Errorf("the hook did not run in the sandbox alone: %v", err)
	}
	made := w.worktreeOf()
	w.write(filepath.Join(made.Dir, "new.txt"), "new\n")
	tops, files = w.changed(made.Dir)
	if _, err := w.m.Changes().Commit(t.Context(), w.ws, tops, files, machine.Commit{Message: "three", Name: "Ana"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(made.Dir, "ran")); err != nil {
		t.Fatal(err)
	}
	if n, err := w.m.Changes().MergeWorktree(t.Context(), w.ws, made); n != 1 || err != nil || w.hasEscaped() {
		t.Errorf("merged %d commits, %v", n, err)
	}
}
