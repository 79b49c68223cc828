package host

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// repository creates a repository with a commit, and returns it with a function to run git in a
// directory.
func repository(t *testing.T) (dir string, git func(dir string, args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir = filepath.Join(t.TempDir(), "project")
	git = func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=Ana", "-c", "user.email=ana@example.org"},
			args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(dir, "init", "-q", "-b", "main")
	git(dir, "add", "-A")
	git(dir, "commit", "-q", "-m", "first")
	return dir, git
}

func TestASessionInAWorktree(t *testing.T) {
	repo, git := repository(t)
	w, c := shellWorld(t, Config{}, hub.Config{})
	const other ahp.URI = "ahp-session:/tree"
	isolated := ahp.CreateSessionParams{Channel: other,
		WorkingDirectories: []ahp.URI{core.FileURI(filepath.Join(repo, "sub"))},
		Config:             ahp.Meta{worktrees.IsolationKey: json.RawMessage(`"worktree"`)}}
	w.must(w.host.CreateSession(w.t.Context(), c.caller, isolated))
	state := func() *ahp.SessionState {
		st, _ := hub.StateOf[*ahp.SessionState](w.hub, other)
		return st
	}
	tree, ok := worktrees.Of(state())
	dir, _ := core.FilePath(state().WorkingDirectories[0])
	if !ok || tree.Repo != repo || tree.Into != "main" || dir != filepath.Join(tree.Dir, "sub") ||
		state().Project.DisplayName != "sub" {
		t.Fatalf("the session works in %s of %+v (%v)", dir, tree, ok)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "one\n" {
		t.Errorf("its file holds %q (%v)", b, err)
	}
	if err := w.host.CreateSession(w.t.Context(), c.caller, isolated); err == nil {
		t.Error("the session was made twice")
	}

	w.must(os.WriteFile(filepath.Join(dir, "b.txt"), []byte("two\n"), 0o644))
	guest := core.Caller{Principal: viewer, ClientID: "vic"}
	_, err := w.host.Worktrees.Merge(w.t.Context(), guest, other)
	wantCode(t, err, ahp.CodeSessionNotFound)
	_, err = w.host.Worktrees.Merge(w.t.Context(), c.caller, other)
	wantCode(t, err, ahp.CodeConflict)
	git(dir, "add", "-A")
	git(dir, "commit", "-q", "-m", "second")
	wantCode(t, w.host.Worktrees.Remove(w.t.Context(), c.caller, other, false), ahp.CodeConflict)
	if n, err := w.host.Worktrees.Merge(w.t.Context(), c.caller, other); n != 1 || err != nil {
		t.Fatalf("merged %d commits: %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(repo, "sub", "b.txt")); err != nil {
		t.Error(err)
	}
	w.must(w.host.Worktrees.Remove(w.t.Context(), c.caller, other, false))
	if got := state().WorkingDirectories[0]; got != core.FileURI(filepath.Join(repo, "sub")) {
		t.Errorf("afterwards it works in %s", got)
	}
	if _, ok := worktrees.Of(state()); ok || git(repo, "branch", "--list", "ahphub/*") != "" {
		t.Error("something of the worktree is left")
	}
	_, err = w.host.Worktrees.Merge(w.t.Context(), c.caller, other)
	wantCode(t, err, ahp.CodeNotFound)
}

// Removing a worktree waits for an agent that is starting in it: the agent finds its directory, and
// does not count as a turn.
func TestAWorktreeIsRemovedWhileTheAgentStarts(t *testing.T) {
	repo, _ := repository(t)
	w, c := shellWorld(t, Config{}, hub.Config{})
	const other ahp.URI = "ahp-session:/tree"
	starting, goOn := make(chan string, 1), make(chan struct{})
	found := make(chan error, 1)
	w.agent.open = func(_ context.Context, s agent.Spec) error {
		starting <- s.Dirs[0]
		<-goOn
		_, err := os.Stat(s.Dirs[0])
		found <- err
		return nil
	}
	w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: other,
		WorkingDirectories: []ahp.URI{core.FileURI(repo)},
		Config:             ahp.Meta{worktrees.IsolationKey: json.RawMessage(`"worktree"`)}}))
	w.must(w.host.Keep(other)) // opens its agent
	dir := <-starting
	removed := make(chan error)
	go func() { removed <- w.host.Worktrees.Remove(w.t.Context(), c.caller, other, false) }()
	select {
	case err := <-removed:
		t.Errorf("it did not wait for the agent: %v", err)
		goOn <- struct{}{}
	case goOn <- struct{}{}:
		w.must(<-removed)
	}
	w.must(<-found)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the worktree is still there")
	}
}

func TestNoWorktree(t *testing.T) {
	w, c := shellWorld(t, Config{}, hub.Config{})
	err := w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: "ahp-session:/tree",
		WorkingDirectories: []ahp.URI{core.FileURI(t.TempDir())},
		Config:             ahp.Meta{worktrees.IsolationKey: json.RawMessage(`"worktree"`)}})
	wantCode(t, err, ahp.CodeInvalidParams)
	if !strings.Contains(err.Error(), "is not in a git repository") {
		t.Errorf("it says %v", err)
	}
}

func wantCode(t *testing.T, err error, want int) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("code %d (%v), want %d", got, err, want)
	}
}

// The repository offers refs at which a worktree can start, and a setting selects one.
func TestTheBaseOfAWorktree(t *testing.T) {
	repo, git := repository(t)
	git(repo, "branch", "release/1.0")
	git(repo, "tag", "v1")
	w, c := shellWorld(t, Config{}, hub.Config{})
	w.must(os.WriteFile(filepath.Join(repo, "later.txt"), []byte("later\n"), 0o644))
	git(repo, "add", "-A")
	git(repo, "commit", "-q", "-m", "second")
	schema, err := w.host.ResolveSessionConfig(c.caller, ahp.ResolveSessionConfigParams{})
	w.must(err)
	if p := schema.Schema.Properties[worktrees.BaseKey]; p.EnumDynamic == nil || !*p.EnumDynamic {
		t.Fatalf("%+v", p)
	}
	offered := func(dir ahp.URI, query string) (names []string) {
		res, err := w.host.SessionConfigCompletions(w.t.Context(), c.caller,
			ahp.SessionConfigCompletionsParams{WorkingDirectory: dir, Property: worktrees.BaseKey, Query: query})
		w.must(err)
		for _, i := range res.Items {
			names = append(names, i.Value)
		}
		return names
	}
	if got := offered(core.FileURI(filepath.Join(repo, "sub")), ""); len(got) != 3 || got[0] != "main" {
		t.Errorf("offered are %q", got)
	}
	if got := offered(core.FileURI(repo), "REL"); len(got) != 1 || got[0] != "release/1.0" {
		t.Errorf("like REL are %q", got)
	}
	if got := offered(core.FileURI(t.TempDir()), ""); len(got) != 0 {
		t.Errorf("without a repository there are %q", got)
	}
	in := func(uri ahp.URI, base string) error {
		raw, _ := json.Marshal(base)
		return w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: uri,
			WorkingDirectories: []ahp.URI{core.FileURI(repo)},
			Config: ahp.Meta{worktrees.IsolationKey: json.RawMessage(`"worktree"`),
				worktrees.BaseKey: raw}})
	}
	for _, base := range []string{"nowhere", "--exec=x", "v1:sub"} {
		wantCode(t, in("ahp-session:/bad", base), ahp.CodeInvalidParams)
	}
	w.must(in("ahp-session:/old", "release/1.0"))
	s, _ := hub.StateOf[*ahp.SessionState](w.hub, "ahp-session:/old")
	tree, _ := worktrees.Of(s)
	if _, err := os.Stat(filepath.Join(tree.Dir, "later.txt")); !os.IsNotExist(err) ||
		tree.Base != git(repo, "rev-parse", "v1") {
		t.Errorf("it began at %s, with what came later (%v)", tree.Base, err)
	}
}
