package box

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
)

func TestProgramsInBoxWorkInTheirDirectories(t *testing.T) {
	w := newWorld(t)
	w.write(w.cfg.Home+"/.gitconfig", "mine")
	w.write(w.cfg.Home+"/.agent/settings", "before")
	w.write(w.cfg.Home+"/.ssh/key", "secret")
	attached := t.TempDir()
	w.write(attached+"/picture", "seen")
	w.policy.Home, w.policy.Read = []string{".agent"}, []string{attached}
	if got, want := w.run("pwd; echo hello >made; cat made ~/.gitconfig "+attached+
		"/picture; echo after >~/.agent/settings; "+
		"touch "+attached+"/more 2>/dev/null || echo refused; ls -A ~; echo kept >~/own; hostname"),
		w.dir+"\nhello\nmineseenrefused\n.agent\n.gitconfig\nsandbox"; got != want {
		t.Errorf("it prints:\n%s\nand not\n%s", got, want)
	}
	if got := w.read(w.dir + "/made"); got != "hello\n" {
		t.Error("the file has ", got)
	}
	if got := w.read(w.cfg.Home + "/.agent/settings"); got != "after\n" {
		t.Error("the agent's settings are ", got)
	}
	w.run("touch /tmp/mark")
	w.End("s1")
	if got := w.run("cat ~/own; ls /tmp | grep mark; true"); got != "kept" {
		t.Error("of the session's home directory there is ", got)
	}
	if isThere(w.cfg.Home + "/own") {
		t.Error("the user's home directory was written")
	}
}

func TestWorktreeLeavesWhatRunsProgramsOutside(t *testing.T) {
	w := newWorld(t)
	repo, tree := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", repo},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w.dir = filepath.Join(tree, "mine")
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("worktree", "add", "-q", w.dir)
	git("worktree", "add", "-q", filepath.Join(tree, "other"))
	w.policy.Write, w.policy.Git = []string{w.dir}, []string{repo + "/.git"}
	w.write(repo+"/.git/rebase-merge/git-rebase-todo", "exec true\n") // like a rebase that its owner interrupted
	w.run("echo x >file; git add file; git -c user.name=a -c user.email=a@b commit -q -m two; git status --short")
	for _, name := range []string{"config", "hooks/pre-commit", "modules/a", "worktrees/other/commondir",
		"worktrees/other/HEAD", "worktrees/mine/commondir", "worktrees/mine/gitdir", "worktrees/mine/config.worktree",
		"worktrees/third", "rebase-merge/git-rebase-todo"} {
		if got := w.run("echo x 2>/dev/null >" + repo + "/.git/" + name + " || echo refused"); got != "refused" {
			t.Errorf("%s can be written", name)
		}
	}
	if got := w.run("git log --format=%s"); got != "two\none" {
		t.Errorf("the commits are %q", got)
	}
}

func TestPolicyOpensNeitherDataNorHome(t *testing.T) {
	w := newWorld(t)
	below := filepath.Join(w.data, "worktrees", "other")
	w.write(below+"/x", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		w.data: "ahphub", below: "ahphub", filepath.Dir(w.data): "Choose a directory below it",
		w.cfg.Home: "home directory",
		"/":        "home directory", "/var": "shared", "/usr": "system", "/etc/ssl": "system",
		"/proc": "system", link: "symbolic link", "/nowhere": "no such file",
	} {
		w.policy.Write = []string{path}
		if why := w.refused("true"); !strings.Contains(why, want) {
			t.Errorf("%s: %s", path, why)
		}
	}
	w.policy.Write, w.policy.Own, w.dir = []string{below}, []string{"other"}, below
	w.run("test -e x")
}

func TestLinkLeftInHomeLeadsMountsNowhere(t *testing.T) {
	w := newWorld(t)
	w.run("ln -s /proc/1/root ~/.config; ln -s " + w.data + " ~/deep")
	w.End("s1")
	w.write(w.cfg.Home+"/.config/agent/settings", "mine")
	w.write(w.cfg.Home+"/deep/project/file", "here")
	w.policy.Home = []string{".config/agent"}
	w.policy.Write = []string{w.cfg.Home + "/deep/project"}
	w.dir = w.policy.Write[0]
	if got := w.run("cat ~/.config/agent/settings file"); got != "minehere" {
		t.Error("it prints ", got)
	}
	if isThere(w.data + "/project") {
		t.Error("the data directory was written")
	}
}

func TestProgramsReadWhatTheirSessionWasSent(t *testing.T) {
	w := newWorld(t)
	w.run("true") // the box runs before something is sent
	sent := sandbox.SentDir(w.cfg.Dir, w.policy.Session)
	w.write(sent+"/attachments/picture", "seen")
	if got := w.run("cat " + sent + "/attachments/picture; echo changed 2>/dev/null >" + sent +
		"/attachments/picture || echo refused; rm -r " + sent + "/attachments 2>/dev/null || echo refused"); got !=
		"seenrefused\nrefused" {
		t.Error("it prints ", got)
	}
	other := sandbox.SentDir(w.cfg.Dir, "s2")
	w.write(other+"/attachments/picture", "another's")
	if got := w.run("cat " + other + "/attachments/picture 2>/dev/null || echo refused"); got != "refused" {
		t.Error("of another session it prints ", got)
	}
}
