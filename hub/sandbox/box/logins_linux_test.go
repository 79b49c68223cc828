package box

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
)

const (
	loginFileOfTest = ".agent/auth.json"
	oldLogin        = `{"token": "old"}`
	renew           = "umask 77; mkdir -p ~/.agent; echo '{\"token\": \"new\"}' >~/.agent/auth.new && " +
		"mv -f ~/.agent/auth.new ~/.agent/auth.json"
)

// inEachMode runs a test in every kind of sandbox, with an agent that stores credentials.
func inEachMode(t *testing.T, test func(*testing.T, *world)) {
	with := func(test func(*testing.T, *world)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { w.policy.Home = []string{loginFileOfTest}; test(t, w) }
	}
	t.Run("landlock", func(t *testing.T) { t.Parallel(); with(test)(t, newLockWorld(t)) })
	inEachBox(t, with(test))
}

// userHas waits until the user's file contains a text.
func (w *world) userHas(text string) {
	w.t.Helper()
	await(w.t, "the user's credentials to have "+text, func() bool {
		b, err := os.ReadFile(w.cfg.Home + "/" + loginFileOfTest)
		return err == nil && strings.Contains(string(b), text)
	})
}

func TestRenewedLoginReachesHomeAndOtherSessions(t *testing.T) {
	inEachMode(t, func(t *testing.T, w *world) {
		w.write(w.cfg.Home+"/"+loginFileOfTest, oldLogin)
		other := *w.policy
		other.Session = "s2"
		cmd, out := w.shell("until grep new ~/.agent/auth.json; do sleep 0.01; done")
		if err := w.Start(cmd, &other); err != nil {
			t.Fatal(err)
		}
		if got := w.run("cat ~/" + loginFileOfTest + "; " + renew); got != strings.TrimSpace(oldLogin) {
			t.Errorf("a program finds the credentials %q", got)
		}
		w.userHas("new")
		if err := cmd.Wait(); err != nil {
			t.Errorf("another session: %v, %s", err, out)
		}
		w.run("echo '{\"token\": \"last\"}' >~/" + loginFileOfTest)
		w.End("s1") // without a check in between
		w.userHas("last")
		if info, err := os.Stat(w.cfg.Home + "/" + loginFileOfTest); err != nil || info.Mode().Perm() != 0o600 {
			t.Error("the user's file: ", info, err)
		}
	})
}

func TestFirstLoginInSandboxReachesHome(t *testing.T) {
	inEachMode(t, func(t *testing.T, w *world) {
		w.run(renew)
		w.userHas("new")
		w.End("s1")
		if err := os.Remove(w.cfg.Home + "/" + loginFileOfTest); err != nil { // the user logs out
			t.Fatal(err)
		}
		if got := w.run("cat ~/" + loginFileOfTest + " 2>/dev/null || echo none"); got != "none" {
			t.Errorf("after logging out there is %q", got)
		}
	})
}

// A file without credentials does not replace the user's, and a pipe that blocks readers delays nothing.
func TestHostileLoginStaysInSandbox(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"half of a file": `echo '{"token": ' >$F`, "nothing": ": >$F", "a link": "ln -sf /etc/passwd $F",
		"a link to a link": "ln -s auth.json ~/.agent/b; ln -sf b $F", "a pipe": "rm $F; mkfifo $F",
		"a directory": "rm $F; mkdir $F", "none": "rm $F",
		"too large":               "(echo '['; head -c 2000000 /dev/zero | tr '\\0' ' '; echo ']') >$F",
		"a parent that leads out": "rm -r ~/.agent; ln -s $OUT ~/.agent; echo '{}' >$OUT/auth.json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, sandbox.Landlock)
			w.write(w.cfg.Home+"/"+loginFileOfTest, oldLogin)
			w.policy.Home = []string{loginFileOfTest}
			dir := w.cfg.Dir + "/s1"
			if err := os.MkdirAll(dir+"/home", 0o700); err != nil {
				t.Fatal(err)
			}
			l, err := w.watchLogins(w.policy, dir)
			if err != nil {
				t.Fatal(err)
			}
			cmd, out := w.shell(strings.ReplaceAll(script, "$F", "~/"+loginFileOfTest))
			cmd.Env = append(cmd.Env, "HOME="+dir+"/home", "OUT="+t.TempDir())
			if err := cmd.Run(); err != nil {
				t.Fatal(err, out)
			}
			l.close()
			if got := w.read(w.cfg.Home + "/" + loginFileOfTest); got != oldLogin {
				t.Errorf("the user's credentials are %q", got)
			}
		})
	}
}

// A modification time in the future, which programs can set, does not make a file win forever.
func TestLoginFromFutureIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, sandbox.Landlock)
	users, dir := w.cfg.Home+"/"+loginFileOfTest, w.cfg.Dir+"/s1"
	w.write(users, oldLogin)
	w.write(dir+"/home/"+loginFileOfTest, `{"token": "future"}`)
	future := time.Now().Add(10 * 365 * 24 * time.Hour)
	if err := os.Chtimes(dir+"/home/"+loginFileOfTest, future, future); err != nil {
		t.Fatal(err)
	}
	w.policy.Home = []string{loginFileOfTest}
	l, err := w.watchLogins(w.policy, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	w.userHas("future")
	info, err := os.Stat(users)
	if err != nil || info.ModTime().After(time.Now()) {
		t.Error("the user's file is from the future: ", info.ModTime(), err)
	}
	if _, ok := info.Sys().(*syscall.Stat_t); !ok {
		t.Error("no inode: versions of a file look the same")
	}
}
