package fence_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func makeRepository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

// A hostile hub records, reads and writes changes of open directories only.
func TestHubCannotReachRepositoriesOutside(t *testing.T) {
	w := newWorld(t)
	repo := filepath.Join(w.open, "repo")
	makeRepository(t, repo)
	makeRepository(t, w.closed)
	c, ctx := w.Changes(), t.Context()
	ws := machine.Workspace{Session: "s", Dirs: []string{repo, w.closed, "/"},
		Granted: []machine.Outside{{By: filepath.Join(repo, ".git"), Path: w.closed}}}
	now, err := c.Checkpoint(ctx, ws, []string{repo})
	if err != nil || len(now.Trees) != 1 {
		t.Fatalf("what is open: %+v, %v", now, err)
	}
	for what, dir := range map[string]string{"a neighbour": w.closed, "a link": w.link(t, w.closed, "outward"),
		"the data": w.data} {
		_, err := c.Checkpoint(ctx, ws, []string{dir})
		checkRefused(t, what+" is recorded", err)
		_, err = c.Watch(ctx, ws, []string{dir}, 100)
		checkRefused(t, what+" is watched", err)
		_, err = c.Texts(ctx, ws, []string{repo}, []string{dir + "/note.txt"})
		checkRefused(t, what+" is read", err)
		_, err = c.Edit(ctx, ws, []string{dir}, []machine.TextEdit{{Path: dir + "/note.txt", Data: []byte("x")}})
		checkRefused(t, what+" is edited", err)
		tree := now.Trees[0]
		tree.Top = dir
		_, err = c.Commit(ctx, ws, []machine.Tree{tree}, nil, machine.Commit{Message: "m"})
		checkRefused(t, what+" is committed", err)
		checkRefused(t, what+" is written", c.CarryOut(ctx, ws, machine.Rewrite{Files: []machine.RewrittenFile{
			{Dir: dir, Top: dir, Path: "note.txt"}}}))
		if c.IsCurrent(ctx, machine.Stamp{dir + "/note.txt": ""}) {
			t.Errorf("%s: its stamp is told", what)
		}
	}
	if text, err := os.ReadFile(filepath.Join(w.closed, "note.txt")); err != nil || !strings.HasPrefix(string(text),
		"secret") {
		t.Errorf("what is closed holds %q, %v", text, err)
	}
}

// No name from a hub becomes an option of git, or leads out of its worktree.
func TestHubCannotSmuggleWordsIntoGit(t *testing.T) {
	w := newWorld(t)
	repo := filepath.Join(w.open, "repo")
	makeRepository(t, repo)
	c, ctx := w.Changes(), t.Context()
	ws := machine.Workspace{Session: "s", Dirs: []string{repo}}
	now, err := c.Checkpoint(ctx, ws, []string{repo})
	if err != nil {
		t.Fatal(err)
	}
	option := "--output=" + filepath.Join(repo, "made")
	bad := machine.Checkpoint{Trees: []machine.Tree{{Dir: repo, Top: repo, OID: option}}}
	errs := map[string]error{"keep": c.Keep(ctx, ws, bad), "branch": c.CreateBranch(ctx, ws, now.Trees, "--orphan")}
	_, errs["compare"] = c.Compare(ctx, ws, now, bad)
	_, errs["patch"] = c.Patch(ctx, ws, bad, now)
	_, errs["content"] = c.Content(ctx, ws, option)
	for _, path := range []string{"../src-private/note.txt", ".git/hooks/pre-commit", "sub/.GIT/config",
		"/etc/passwd"} {
		file := machine.ChangedFile{Top: repo, Path: path, Status: machine.FileModified}
		_, errs["revert "+path] = c.PlanRevert(ctx, ws, now.Trees, []machine.ChangedFile{file}, nil)
		_, errs["stage "+path] = c.Stage(ctx, ws, now.Trees, []machine.ChangedFile{file}, nil)
		errs["write "+path] = c.CarryOut(ctx, ws, machine.Rewrite{Files: []machine.RewrittenFile{
			{Dir: repo, Top: repo, Path: path}}})
	}
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s is not refused", what)
		}
	}
	if _, err := os.Stat(filepath.Join(repo, "made")); err == nil {
		t.Error("git wrote a file")
	}
	if _, _, err := c.AddWorktree(ctx, ws, machine.NewWorktree{Dir: repo}); err == nil ||
		!strings.Contains(err.Error(), "no separate worktrees") {
		t.Errorf("a worktree is refused with %v", err)
	}
}

// A repository around the open directory contains more than its owner opened.
func TestRepositoryAroundOpenDirectoryStaysClosed(t *testing.T) {
	w := newWorld(t)
	makeRepository(t, filepath.Dir(w.open))
	ws := machine.Workspace{Session: "s", Dirs: []string{w.open}}
	_, err := w.Changes().Checkpoint(t.Context(), ws, ws.Dirs)
	checkRefused(t, "the repository around it", err)
	files, err := w.Changes().TrackedFiles(t.Context(), ws, ws.Dirs)
	for _, f := range files {
		if !strings.HasPrefix(f, w.open+"/") {
			t.Errorf("%s is listed: %v", f, err)
		}
	}
}
